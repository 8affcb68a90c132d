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
	l := &loop{queue: q, gate: source.NewByteBudget(), cancel: func(err error) { t.Error(err) }, links: event.NewWatchStates(nil)}
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

// TestMarkTime: a mark is not older than what it comes after, or that would not have been there when all was.
func TestMarkTime(t *testing.T) {
	var got []event.Event
	l := &loop{gate: source.NewByteBudget(), links: event.NewWatchStates(nil)}
	l.sink = event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		got = append(got, batch...)
		return nil
	})
	configMaps := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)}
	l.batch = mark([]event.Event{{Type: event.Added, Target: configMaps, Initial: true}}, event.Synced, event.Event{Target: configMaps})
	l.deliver(t.Context())
	if got[0].Time.IsZero() || got[1].Time.Before(got[0].Time) {
		t.Errorf("%s at %v, %s at %v", got[0].Type, got[0].Time, got[1].Type, got[1].Time)
	}
}
