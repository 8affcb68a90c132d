package program

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"

	"dwatch/testdata/testenv"
)

// natsCommand controls a NATS server for a script.
func natsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: nats up|down|stream|read|await ...")
	}
	b := of(ts)
	switch what, args := args[0], args[1:]; {
	case what == "up" && b.nats == nil:
		for i, arg := range args {
			if _, err := os.Stat(ts.MkAbs(arg)); err == nil {
				args[i] = ts.MkAbs(arg) // the server runs in another directory
			}
		}
		s, err := testenv.StartNATS(ts.MkAbs(".nats"), args...)
		ts.Check(err)
		b.nats = s
		ts.Setenv("NATS", s.Address)
	case what == "up":
		ts.Check(b.nats.Restart())
	case what == "down":
		b.nats.Kill()
	case what == "stream" && len(args) == 2:
		ts.Check(b.withNATS(func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: args[0], Subjects: strings.Split(args[1], ",")})
			return err
		}))
	case what == "read" && len(args) == 1:
		ts.Check(b.withNATS(func(ctx context.Context, js jetstream.JetStream) error {
			text, err := readStream(ctx, js, args[0])
			fmt.Fprint(ts.Stdout(), text)
			return err
		}))
	case what == "await" && len(args) == 2:
		pattern, err := regexp.Compile("(?m)" + args[1])
		ts.Check(err)
		ts.Check(b.withNATS(func(ctx context.Context, js jetstream.JetStream) error {
			return awaitStream(ctx, js, args[0], pattern)
		}))
	default:
		ts.Fatalf("invalid arguments of nats %s", what)
	}
}

// withNATS calls a function with a client of the server.
func (b *bench) withNATS(do func(context.Context, jetstream.JetStream) error) error {
	nc, err := nats.Connect(b.nats.Address)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return do(ctx, js)
}

// awaitStream waits until the messages of a stream match a pattern.
func awaitStream(ctx context.Context, js jetstream.JetStream, name string, pattern *regexp.Regexp) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := readStream(ctx, js, name)
		if err != nil || pattern.MatchString(text) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not match %s:\n%s", name, pattern, text)
		}
	}
}

// readStream returns the messages of a stream: the subject, the headers and the body.
func readStream(ctx context.Context, js jetstream.JetStream, name string) (string, error) {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	state := s.CachedInfo().State
	for i := state.FirstSeq; i <= state.LastSeq && state.Msgs > 0; i++ {
		m, err := s.GetMsg(ctx, i)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&text, m.Subject)
		for _, header := range headersOf(m.Header) {
			fmt.Fprintln(&text, " ", header)
		}
		fmt.Fprintln(&text, " ", strings.TrimSuffix(string(m.Data), "\n"))
	}
	return text.String(), nil
}

// headersOf returns headers in the order of their names.
func headersOf(h nats.Header) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}
