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

// TestHeartbeatLast checks that a heartbeat comes after everything that was received before it.
func TestHeartbeatLast(t *testing.T) {
	pods := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)}
	q := newQueue()
	q.put(message{target: newTarget(pods, false), kind: msgLeft})
	<-q.ready // so that only the heartbeat wakes the loop
	beats := make(chan time.Time, 1)
	beats <- time.Time{}
	var got []event.Type
	l := &loop{queue: q, budget: source.NewByteBudget(), cancel: func(err error) { t.Error(err) }, states: event.NewWatchStates(nil)}
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
		t.Errorf("got %s", text)
	}
}

// TestStatusTime checks that a status event is not older than the event that it follows.
func TestStatusTime(t *testing.T) {
	var got []event.Event
	l := &loop{budget: source.NewByteBudget(), states: event.NewWatchStates(nil)}
	l.sink = event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		got = append(got, batch...)
		return nil
	})
	configMaps := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)}
	l.batch = appendStatus([]event.Event{{Type: event.Added, Target: configMaps, Initial: true}}, event.Synced, event.Event{Target: configMaps})
	l.deliver(t.Context())
	if got[0].Time.IsZero() || got[1].Time.Before(got[0].Time) {
		t.Errorf("%s at %v, %s at %v", got[0].Type, got[0].Time, got[1].Type, got[1].Time)
	}
}
