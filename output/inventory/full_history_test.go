package inventory

import (
	"slices"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// names returns the names and phases of the pods that existed some seconds after the start.
func (s *seen) names(second int) (all []string) {
	s.t.Helper()
	states, err := s.ListAt(start.Add(time.Duration(second)*time.Second), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, one := range states {
		all = append(all, one.Entry.Name+" "+one.Status.String())
	}
	return all
}

// TestFullHistory checks that queries work for any time and interval with Options.FullHistory, also for deleted objects.
func TestFullHistory(t *testing.T) {
	s := newSeen(t, Options{FullHistory: true, MaxDeleted: 1, Compare: &change.Options{Noise: change.DefaultNoise()}})
	initial := of(event.Added, pod("old", "u1", "1", "Running"), 0)
	initial.Initial = true
	s.deliver(initial, of(event.Added, pod("a", "u2", "2", "Pending"), 10), of(event.Modified, pod("a", "u2", "3", "Failed"), 20),
		of(event.Deleted, pod("a", "u2", "4", "Failed"), 30), of(event.Deleted, pod("old", "u1", "5", "Running"), 40),
		of(event.Added, pod("a", "u2", "6", "Running"), 50)) // selected again
	for second, want := range map[int][]string{
		0: {"old InProgress"}, 9: {"old InProgress"}, 10: {"a InProgress", "old InProgress"}, 29: {"a Failed", "old InProgress"}, 30: {"old InProgress"},
		40: nil, 49: nil, 50: {"a InProgress"},
	} {
		if got := s.names(second); !slices.Equal(got, want) {
			t.Errorf("after %d s: %q, want %q", second, got, want)
		}
	}
	var steps []string
	for _, one := range s.Transitions(start, start.Add(45*time.Second)) {
		text := string(one.State.Type) + " " + one.State.Entry.Name
		if one.BecameFailed() {
			text += " fails"
		}
		if one.Before != nil {
			text += " was " + one.Before.Status.String()
		}
		steps = append(steps, text)
	}
	if want := []string{"ADDED a", "MODIFIED a fails was InProgress", "DELETED a was Failed", "DELETED old was InProgress"}; !slices.Equal(steps, want) {
		t.Errorf("got transitions %q, want %q", steps, want)
	}
	for second, want := range map[int]int{9: 0, 25: 1, 35: 0} {
		if all := s.Problems(start.Add(time.Duration(second)*time.Second), 9, *s.options.Compare); len(all) != want {
			t.Errorf("after %d s: got %d problems, want %d", second, len(all), want)
		}
	}
}

// TestFullHistoryLeft checks that objects of a target that is no longer watched are listed at earlier times, and again when the
// target returns.
func TestFullHistoryLeft(t *testing.T) {
	s := newSeen(t, Options{FullHistory: true})
	s.deliver(of(event.Added, pod("a", "u1", "1", "Pending"), 0), of(event.Modified, pod("a", "u1", "2", "Failed"), 5), of(event.Modified, pod("a", "u1", "3", "Failed"), 6),
		event.Event{Type: event.Left, Target: pods, Time: start.Add(10 * time.Second)}, of(event.Added, pod("a", "u1", "4", "Running"), 20))
	for second, want := range map[int][]string{4: {"a InProgress"}, 9: {"a Failed"}, 10: nil, 19: nil, 20: {"a InProgress"}} {
		if got := s.names(second); !slices.Equal(got, want) {
			t.Errorf("after %d s: %q, want %q", second, got, want)
		}
	}
	for second, want := range map[int]int{9: 1, 15: 0} {
		if all := s.Problems(start.Add(time.Duration(second)*time.Second), 9, change.Options{}); len(all) != want {
			t.Errorf("after %d s: got %d problems, want %d", second, len(all), want)
		}
	}
	if since := s.RetainedSince(); !since.IsZero() {
		t.Errorf("retained since %s, want all", since)
	}
}

// TestNotRetained checks that queries for times that are not retained return an error.
func TestNotRetained(t *testing.T) {
	s := newSeen(t, Options{FullHistory: true})
	s.archive.limit = 5 * overhead
	s.deliver(of(event.Added, pod("a", "u", "1", "Running"), 0))
	for n := range 20 {
		s.deliver(of(event.Modified, pod("a", "u", "2", "Running"), 1+n))
	}
	held := s.RetainedSince()
	if !held.After(start) || !held.Before(start.Add(20*time.Second)) {
		t.Fatalf("retained since %s, want a time within the events", held)
	}
	if _, err := s.ListAt(held, nil); err != nil {
		t.Error(err)
	}
	if _, err := s.ListAt(held.Add(-1), nil); err == nil {
		t.Error("no error for a time that is not retained")
	}
}

// TestFullHistoryNoise checks that a state that differs only in noise does not replace its predecessor.
func TestFullHistoryNoise(t *testing.T) {
	s := newSeen(t, Options{FullHistory: true, Compare: &change.Options{Noise: change.DefaultNoise()}})
	s.deliver(of(event.Added, pod("a", "u", "1", "Running"), 0), of(event.Modified, pod("a", "u", "2", "Running"), 10))
	all, err := s.ListAt(start.Add(5*time.Second), nil)
	if err != nil || all[0].Object.ResourceVersion != "1" {
		t.Errorf("after 5 s: got version %s, want 1; %v", all[0].Object.ResourceVersion, err)
	}
	for _, one := range s.Transitions(start, time.Time{}) {
		if one.IsSignificant(*s.options.Compare) {
			t.Error("a transition with only noise is significant")
		}
	}
}
