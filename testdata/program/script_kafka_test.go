package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"

	"dwatch/testdata/testenv"
)

// kafkaTopic is the topic on the broker of scripts. It has one partition.
const kafkaTopic = "k8s"

// kafkaCommand controls a Kafka broker for a script.
func kafkaCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: kafka up|down|read|await|LINE ...")
	}
	b := of(ts)
	switch what, args := args[0], args[1:]; {
	case what == "up" && b.kafka == nil:
		for i, arg := range args {
			if _, err := os.Stat(ts.MkAbs(arg)); err == nil {
				args[i] = ts.MkAbs(arg) // the broker runs in another directory
			}
		}
		k, err := testenv.StartKafka(ts.MkAbs(".kafka"), append([]string{"--topics", kafkaTopic + ":1"}, args...)...)
		ts.Check(err)
		b.kafka = k
		ts.Setenv("KAFKA", k.Address)
	case what == "up":
		ts.Check(b.kafka.Restart())
	case what == "down":
		b.kafka.Kill()
	case what == "read" && len(args) == 0:
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		text, err := b.awaitKafka(ctx, regexp.MustCompile(""), time.Second)
		ts.Check(err)
		fmt.Fprint(ts.Stdout(), text)
	case what == "await" && len(args) == 1:
		pattern, err := regexp.Compile("(?m)" + args[0])
		ts.Check(err)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err = b.awaitKafka(ctx, pattern, 0)
		ts.Check(err)
	default:
		ts.Check(b.kafka.Command(strings.Join(append([]string{what}, args...), " ")))
	}
}

// awaitKafka returns the records of the topic once they match a pattern and no record has arrived for the time quiet.
func (b *bench) awaitKafka(ctx context.Context, pattern *regexp.Regexp, quiet time.Duration) (string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Address), kgo.ConsumeTopics(kafkaTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return "", err
	}
	defer client.Close()
	var text strings.Builder
	for {
		try, cancel := ctx, context.CancelFunc(func() {})
		isMatch := pattern.MatchString(text.String())
		if isMatch && quiet == 0 {
			return text.String(), nil
		}
		if isMatch {
			try, cancel = context.WithTimeout(ctx, quiet)
		}
		fetched := client.PollFetches(try)
		cancel()
		fetched.EachRecord(func(r *kgo.Record) { writeRecord(&text, r) })
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("%s does not match %s:\n%s", kafkaTopic, pattern, text.String())
		case isMatch && errors.Is(fetched.Err0(), context.DeadlineExceeded):
			return text.String(), nil
		}
	}
}

// writeRecord writes the key of a record, its headers in the order of their names, and its value. A tombstone has the
// value "(null)".
func writeRecord(text *strings.Builder, r *kgo.Record) {
	fmt.Fprintln(text, string(r.Key))
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, h.Key+": "+string(h.Value))
	}
	slices.Sort(headers)
	for _, h := range headers {
		fmt.Fprintln(text, " ", h)
	}
	value := strings.TrimSuffix(string(r.Value), "\n")
	if r.Value == nil {
		value = "(null)"
	}
	fmt.Fprintln(text, " ", value)
}
