package producer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/output/deliver"
	"dwatch/output/deliver/kafka"
	"dwatch/testdata/testenv"
	"dwatch/watcher/event"
)

// patience is how long a test waits for a condition.
const patience = time.Minute

const topic = "k8s"

// newBroker starts a broker with the topic, which has three partitions.
func newBroker(t *testing.T, flags ...string) *testenv.Kafka {
	t.Helper()
	k, err := testenv.StartKafka(t.TempDir(), append([]string{"--topics", topic + ":3"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Kill)
	return k
}

// command sends a command to a test broker.
func command(t *testing.T, k *testenv.Kafka, line string) {
	t.Helper()
	if err := k.Command(line); err != nil {
		t.Fatal(err)
	}
}

// newReceiver returns a Receiver for a broker.
func newReceiver(t *testing.T, k *testenv.Kafka, o kafka.Options) *Receiver {
	t.Helper()
	o.Brokers, o.Topic = []string{k.Address}, topic
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.SetSource("urn:uuid:1")
	t.Cleanup(r.Close)
	return r
}

// client returns a client that is independent of a Receiver.
func client(t *testing.T, k *testenv.Kafka, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(options, kgo.SeedBrokers(k.Address))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// stored returns the records of the topic. The records of a partition are in order.
func stored(t *testing.T, k *testenv.Kafka, options ...kgo.Opt) (records []*kgo.Record) {
	t.Helper()
	c := client(t, k, append(options, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	ends, err := kadm.NewClient(c).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	missing := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			missing[o.Partition] = o.Offset
		}
	})
	for len(missing) > 0 {
		fetched := c.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			records = append(records, r)
			if r.Offset+1 >= missing[r.Partition] {
				delete(missing, r.Partition)
			}
		})
	}
	return records
}

// values returns the values of records. For a tombstone it is "-".
func values(records []*kgo.Record) (all []string) {
	for _, r := range records {
		text := strings.TrimSpace(string(r.Value))
		if r.Value == nil {
			text = "-"
		}
		all = append(all, text)
	}
	return all
}

// pod returns a message about a pod.
func pod(name string, version int) *deliver.Message {
	return &deliver.Message{
		ID: fmt.Sprintf("uid-%s/%d/MODIFIED", name, version), Type: event.Modified,
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Identity: event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version)},
		Time:     time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		Body:     fmt.Appendf(nil, "%s%d\n", name, version),
	}
}

// within returns the context of an attempt with a deadline.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, end := deliver.WithDeadline(t.Context(), d)
	t.Cleanup(end)
	return ctx
}

// eventually waits until holds returns true. what describes the condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("did not happen within %s: %s", patience, what)
		}
	}
}

func isRefused(err error) bool {
	_, refused := errors.AsType[*deliver.RefusedError](err)
	return refused
}

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
