package jetstream

import (
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/output/deliver"
	"dwatch/testdata/testenv"
	"dwatch/watcher/event"
)

// size is the size of an event in bytes, and objects is the number of objects.
const size, objects = 5 << 10, 1000

func benchServer(b *testing.B) *testenv.NATS {
	s, err := testenv.StartNATS(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Kill)
	nc, err := nats.Connect(s.Address)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js := must(jetstream.New(nc))
	must(js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"d.>"}}))
	return s
}

// BenchmarkQueue delivers events through a Queue into a stream, with several numbers of workers.
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s := benchServer(b)
			r := must(New(Options{Server: "nats://" + s.Address, Prefix: "d"}))
			r.SetSource("urn:uuid:1")
			defer r.Close()
			body := make([]byte, size)
			queue := deliver.New(r, deliver.Options{
				Name:    "nats",
				Encode:  func(dst []byte, _ event.Event) ([]byte, error) { return append(dst, body...), nil },
				Subject: func(e event.Event) string { return e.Object.Name },
				Workers: workers,
			})
			var running sync.WaitGroup
			running.Go(func() { queue.Run(b.Context()) })
			b.SetBytes(size)
			b.ResetTimer()
			for i := range b.N {
				e := podEvent(fmt.Sprint("pod-", i%objects), i)
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

// BenchmarkBare publishes the same number of bytes without dwatch, for comparison.
func BenchmarkBare(b *testing.B) {
	s := benchServer(b)
	nc, err := nats.Connect(s.Address)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js := must(jetstream.New(nc))
	body := make([]byte, size)
	b.SetBytes(size)
	b.ResetTimer()
	for i := range b.N {
		m := &nats.Msg{Subject: fmt.Sprint("d.core.pods.ns.pod-", i%objects), Data: body, Header: nats.Header{"Nats-Msg-Id": {fmt.Sprint(i)}}}
		for {
			if _, err := js.PublishMsgAsync(m); err == nil {
				break
			}
		}
	}
	<-js.PublishAsyncComplete()
}
