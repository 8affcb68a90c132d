package until

import (
	"context"
	"errors"
	"testing"

	"dwatch/watcher/event"
)

// TestConfirm checks that an object that is not confirmed does not count, and is asked about again with time.
func TestConfirm(t *testing.T) {
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	confirmed, asked := false, 0
	s := New(next, []event.Target{a}, Options{Until: compile(t, "object.phase == 'done'"), Confirm: func(*event.Event) bool {
		asked++
		return confirmed
	}})
	for _, e := range script(t, map[string]event.Target{"a": a}, "a=new @a a=done") {
		if err := s.Deliver(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 || !s.DependsOnTime() {
		t.Errorf("asked %d times, depends on time: %t; want 1, true", asked, s.DependsOnTime())
	}
	if some, _ := s.Pending(); len(some) != 1 || some[0].Object.Name != "a" {
		t.Errorf("got %+v, want object a to be pending", some)
	}
	if o := s.Reevaluate(); o != nil {
		t.Errorf("got %+v before it is confirmed", o)
	}
	confirmed = true
	if o := s.Reevaluate(); o == nil || o.ObjectCount != 1 || o.Failed {
		t.Errorf("got %+v, want one object", o)
	}
	if s.DependsOnTime() {
		t.Error("a confirmed object is still evaluated again")
	}
}

// TestConfirmDeleted checks that a deletion needs no confirmation.
func TestConfirmDeleted(t *testing.T) {
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	s := New(next, []event.Target{all}, Options{Until: compile(t, "deleted"), Confirm: func(*event.Event) bool { return false }})
	err := s.Deliver(t.Context(), script(t, map[string]event.Target{"all": all}, "a=x @all -a"))
	if _, decided := errors.AsType[*Outcome](err); !decided {
		t.Errorf("got %v, want an outcome", err)
	}
}
