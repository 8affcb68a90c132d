package watcher

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// TestHeartbeatLast: a heartbeat comes after all that was received before it.
func TestHeartbeatLast(t *testing.T) {
	pods := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)}
	q := newQueue()
	q.put(note{of: newTarget(pods, false), what: dropped})
	<-q.ready // so that the heartbeat is what it wakes up for
	beats := make(chan time.Time, 1)
	beats <- time.Time{}
	var got []event.Type
	l := &loop{queue: q, gate: source.NewGate(), cancel: func(err error) { t.Error(err) }, links: event.NewLinks(nil)}
	l.sink = event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			if got = append(got, e.Type); len(got) == 2 {
				q.close()
			}
		}
		return nil
	})
	if err := l.run(t.Context(), beats, nil); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(got); text != "[LEFT HEARTBEAT]" {
		t.Error(text)
	}
}
