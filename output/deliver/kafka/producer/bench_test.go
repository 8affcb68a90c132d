package producer

import (
	"crypto/rand"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"dwatch/output/deliver"
	"dwatch/output/deliver/kafka"
	"dwatch/testdata/testenv"
	"dwatch/watcher/event"
)

// size is the size of an event in bytes, and objects is the number of objects.
const size, objects = 5 << 10, 1000

// benchBody returns a body that compresses to about a third, as Kubernetes objects do.
func benchBody() []byte {
	body := make([]byte, size)
	rand.Read(body[:size/3])
	return body
}

func benchBroker(b *testing.B) *testenv.Kafka {
	k, err := testenv.StartKafka(b.TempDir(), "--topics", topic+":3")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(k.Kill)
	return k
}

// BenchmarkQueue delivers events through a Queue into a topic, with several numbers of workers.
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{8, 64, 512} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			r, err := New(kafka.Options{Brokers: []string{benchBroker(b).Address}, Topic: topic})
			if err != nil {
				b.Fatal(err)
			}
			r.SetSource("urn:uuid:1")
			defer r.Close()
			body := benchBody()
			queue := deliver.New(r, deliver.Options{
				Name:    "kafka",
				Encode:  func(dst []byte, _ event.Event) ([]byte, error) { return append(dst, body...), nil },
				Subject: func(e event.Event) string { return e.Object.Name },
				Workers: workers,
			})
			var running sync.WaitGroup
			running.Go(func() { queue.Run(b.Context()) })
			b.SetBytes(size)
			b.ResetTimer()
			for i := range b.N {
				m := pod(fmt.Sprint("pod-", i%objects), i)
				e := event.Event{Type: m.Type, Time: m.Time, Target: event.Target{Mapping: event.NewMapping(m.Resource, m.Kind, true)}, Object: event.NewObject(&m.Identity, "{}")}
				if err := queue.Deliver(b.Context(), []event.Event{e}); err != nil {
					b.Fatal(err)
				}
			}
			queue.Drain()
			running.Wait()
			if summary, undelivered := queue.Summary(); undelivered > 0 {
				b.Fatal(summary)
			}
		})
	}
}

// BenchmarkBare produces records with the same client without dwatch, for comparison.
func BenchmarkBare(b *testing.B) {
	client, err := kgo.NewClient(kgo.SeedBrokers(benchBroker(b).Address), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	body := benchBody()
	b.SetBytes(size)
	var under sync.WaitGroup
	b.ResetTimer()
	for range b.N { // b.Loop would not measure under.Wait
		under.Add(1)
		client.Produce(b.Context(), &kgo.Record{Key: []byte("uid"), Value: body}, func(_ *kgo.Record, err error) {
			if under.Done(); err != nil {
				b.Error(err)
			}
		})
	}
	under.Wait()
}
