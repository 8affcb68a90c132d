package run

import (
	"errors"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestLoseWithCondition: when the watch of a cluster ends after it had answered, its objects are forgotten. --until must not hold
// because the objects of the other clusters match, but wait for the cluster.
func TestLoseWithCondition(t *testing.T) {
	w, _ := newTestCondition(t, event.SinkFunc(discard))
	w.stage.Awaited = nil
	w.run.condition = w
	c := &clusters{run: w.run, stop: func() {}, sink: w}
	in := func(cluster string, e event.Event) event.Event {
		e.Target.Cluster, e.Time = cluster, time.Now()
		return e
	}
	joined, synced := event.Event{Type: event.Joined, Target: jobsTarget}, event.Event{Type: event.Synced, Target: jobsTarget, Count: 1}
	batch := []event.Event{
		in("a", joined), in("b", joined), {Type: event.Left, Target: jobsTarget},
		in("a", jobEvent(t, event.Added, "x", "done")), in("b", jobEvent(t, event.Added, "x", "new")), in("a", synced), in("b", synced),
	}
	if err := c.Deliver(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	m := &member{of: c, name: "b", memberState: memberState{answered: true, targets: []event.Target{in("b", event.Event{Target: jobsTarget}).Target}}}
	lost := errors.New("the server refused a selector")
	if err := m.lose(t.Context(), lost); err != lost {
		t.Fatalf("lose returned %v, want %v", err, lost)
	}
	if some, more := w.stage.Pending(); len(some) != 1 || more != 0 || some[0].AwaitedName != "b" {
		t.Errorf("the condition waits for %+v and %d more, want cluster b", some, more)
	}
}
