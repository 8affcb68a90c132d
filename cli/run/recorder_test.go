package run

import (
	"context"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// TestLimitHeartbeats: a recorder gets a heartbeat as often as it needs one, and all other events.
func TestLimitHeartbeats(t *testing.T) {
	beats, others := 0, 0
	s := limitHeartbeats(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for i := range batch {
			if batch[i].Type == event.Heartbeat {
				beats++
			} else {
				others++
			}
		}
		return nil
	}))
	began := time.Unix(1_700_000_000, 0)
	for n := range 60 { // a minute
		at := began.Add(time.Duration(n) * time.Second)
		batch := []event.Event{{Type: event.Heartbeat, Time: at}}
		if n%2 == 0 {
			batch = append(batch, event.Event{Type: event.Added, Time: at})
		}
		if err := s.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if want := 1 + n/int(recording.HeartbeatInterval*9/10/time.Second); beats != want {
			t.Fatalf("%d heartbeats in %d s, not %d", beats, n, want)
		}
	}
	if others != 30 {
		t.Errorf("%d others, not 30", others)
	}
}
