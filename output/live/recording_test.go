package live

import (
	"context"
	"testing"
	"time"

	"dwatch/output/changes"
	"dwatch/watcher/event"
)

// newRecordingScreen returns a screen that shows a time of a recording of a minute. SetLoaded has not been called yet.
func newRecordingScreen(t *testing.T, at time.Time) *screen {
	s := newScreen(t, 100, 24, func(o *Options) { o.Recording = &Recording{InitialTime: at} })
	s.clock = start.Add(24 * time.Hour)
	after := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	first := initial(pod(t, "web-1", "Running", 1))
	first.Time = start
	s.deliver(first)
	for _, e := range []event.Event{
		{Type: event.Added, Object: pod(t, "web-2", "Pending", 2), Time: after(10)},
		{Type: event.Modified, Object: pod(t, "web-2", "Failed", 3), Time: after(20)},
		{Type: event.Deleted, Object: pod(t, "web-1", "Running", 4), Time: after(30)},
		{Type: event.Modified, Object: pod(t, "web-2", "Running", 5), Time: after(50)},
	} {
		s.deliver(e)
	}
	return s
}

// setLoaded completes the recording. Its state is not known between seconds 40 and 45.
func (s *screen) setLoaded() {
	(&Screen{s.store}).SetLoaded(start, start.Add(time.Minute), start.Add(time.Minute), func(t time.Time) string {
		if at := t.Sub(start); at > 40*time.Second && at < 45*time.Second {
			return "not known: connection lost"
		}
		return ""
	})
	s.send(changedMsg{})
}

// TestStartWhileReading checks with the race detector that a screen may start while its recording is being read.
func TestStartWhileReading(t *testing.T) {
	s := newStore(Options{Recording: &Recording{}, Options: changes.Options{Targets: []event.Target{podsOf}, Compare: changeOptions()}})
	first := initial(pod(t, "web-1", "Running", 1))
	first.Target, first.Time = podsOf, start
	done := make(chan error)
	go func() { done <- s.Deliver(context.Background(), []event.Event{first}) }()
	newModel(context.Background(), s)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestRewind checks that the screen shows the objects at a time, and that keys move the time to the next change, by a minute, or to
// the next failure.
func TestRewind(t *testing.T) {
	s := newRecordingScreen(t, start.Add(42*time.Second))
	s.shows(`◌ .*:00:42 read to \S+:00:50`)
	s.setLoaded()
	s.shows(`✗ .*:00:42 not known`)
	s.shows(`! not known: connection lost`)
	s.lacks(`before all is connected`)
	s.shows(`1 object, 1 not ready`)
	s.shows(`web-2 +1/1 +Failed`)
	s.lacks(`web-1`)

	s.press("left")
	s.shows(`● .*:00:30 known`)
	s.shows(`^ - web-1`)
	s.press("left")
	s.shows(`:00:20 known`)
	s.shows(`✗~ web-2 +1/1 +Failed`)
	s.shows(`web-1 +1/1 +Running`)
	s.press("left")
	s.shows(`:00:10 known`)
	s.shows(`◌\+ web-2 +1/1 +Pending`)
	s.press("enter")
	s.lacks(`Failed`)
	s.press("esc", "left")
	s.shows(`no earlier change`)
	s.press("right", "right", "right")
	s.shows(`:00:50 known`)
	s.press("right")
	s.shows(`no later change`)

	s.press("[")
	s.shows(`:00:00 known`)
	s.shows(`1 object`)
	s.press("f")
	s.shows(`:00:20 known`)
	s.press("f")
	s.shows(`no later failure`)
	s.press("]")
	s.shows(`:01:00 known`)
	s.press("F")
	s.shows(`:00:20 known`)
}

// TestRewindWhileReading checks that keys do not move the time while the recording is being read.
func TestRewindWhileReading(t *testing.T) {
	s := newRecordingScreen(t, time.Time{})
	s.press("left")
	s.shows(`the recording is still being read`)
	s.setLoaded()
	s.shows(`:01:00 known`)
	s.shows(`web-2 +1/1 +Running`)
	s.press("l")
	s.shows(`messages about the watch`)
}
