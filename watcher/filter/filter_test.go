package filter

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

func TestPasses(t *testing.T) {
	batch := []event.Event{
		{Type: event.Added, Initial: true, Count: 1},
		{Type: event.Added, Count: 2},
		{Type: event.Modified, Count: 3},
		{Type: event.Deleted, Count: 4},
		{Type: event.Synced, Count: 5},
		{Type: event.Heartbeat, Count: 6},
	}
	for _, test := range []struct {
		options Options
		want    []int
	}{
		{Options{}, []int{1, 2, 3, 4, 6}},
		{Options{PassStatus: true}, []int{1, 2, 3, 4, 5, 6}},
		{Options{WatchOnly: true}, []int{2, 3, 4, 6}},
		{Options{Types: []event.Type{event.Added, event.Deleted}}, []int{1, 2, 4, 6}},
		{Options{Types: []event.Type{event.Added}, WatchOnly: true, PassStatus: true}, []int{2, 5, 6}},
	} {
		var got []int
		sink := New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
			for _, e := range batch {
				got = append(got, e.Count)
			}
			return nil
		}), test.options)
		if err := sink.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v: %s", test.options, diff)
		}
	}
}

// TestNext checks that next is not called without events, and that its error is returned.
func TestNext(t *testing.T) {
	full := errors.New("full")
	calls := 0
	sink := New(event.SinkFunc(func(context.Context, []event.Event) error { calls++; return full }), Options{})
	if err := sink.Deliver(t.Context(), []event.Event{{Type: event.Synced}}); err != nil || calls > 0 {
		t.Errorf("got error %v and %d calls of next, want none", err, calls)
	}
	if err := sink.Deliver(t.Context(), []event.Event{{Type: event.Synced}, {Type: event.Added}}); !errors.Is(err, full) {
		t.Errorf("got error %v, want the error of next", err)
	}
}

func TestParseTypes(t *testing.T) {
	got, err := ParseTypes([]string{"added", " Deleted"})
	if diff := cmp.Diff([]event.Type{event.Added, event.Deleted}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, wrong := range []string{"", "synced", "add"} {
		if _, err := ParseTypes([]string{"added", wrong}); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}
