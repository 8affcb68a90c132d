package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestTrail: what was shown of the states before is kept, and is what would be shown again.
func TestTrail(t *testing.T) {
	s := newScreen(t, 100, 40, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	another := func(o event.Object) event.Object { // of the same name
		o.Identity.UID = "another"
		return o
	}
	_, r := s.view.selected()
	of := &trail{details: s.details}
	for i, e := range []event.Event{
		modified(pod(t, "web-a", "Running", 2)), removed(pod(t, "web-a", "Running", 3)),
		{Type: event.Added, Object: another(pod(t, "web-a", "Pending", 4))}, modified(another(pod(t, "web-a", "Running", 5))),
	} {
		s.clock = s.clock.Add(time.Second)
		s.deliver(e)
		kept, fresh := of.lines(r, 90), (&trail{details: s.details}).lines(r, 90)
		if !slices.Equal(kept, fresh) {
			t.Errorf("after %d events:\n%s\nwant\n%s", i+1, strings.Join(kept, "\n"), strings.Join(fresh, "\n"))
		}
	}
	for key, one := range of.made {
		if key.to.Object.ResourceVersion == "2" {
			one.text = "as it was told\n"
			of.made[key] = one
		}
	}
	if got := strings.Join(of.lines(r, 90), "\n"); !strings.Contains(got, "as it was told") {
		t.Errorf("it is told anew:\n%s", got)
	}
	if got := strings.Join(of.lines(r, 60), "\n"); strings.Contains(got, "as it was told") {
		t.Errorf("for another width it is not told anew:\n%s", got)
	}
}

// TestGone: what is shown of an object says when that is deleted, and when there is
// another one of the name.
func TestGone(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	s.deliver(initial(pod(t, "web-a", "Running", 1)), synced())
	s.press("d")
	s.shows(`^ YAML of pods/web-a `)
	s.deliver(removed(pod(t, "web-a", "Running", 2)))
	s.pass(2 * time.Second)
	s.shows(`^ deleted 2s ago: YAML of pods/web-a `)
	s.pass(linger)
	s.shows(`^ deleted 10s ago: YAML of pods/web-a `)
	s.deliver(event.Event{Type: event.Added, Object: pod(t, "web-a", "Pending", 3)})
	s.shows(`^ before it came back: YAML of pods/web-a `)
	s.press("d")
	s.shows(`^ YAML of pods/web-a `)
	s.shows(`phase: Pending`)
}
