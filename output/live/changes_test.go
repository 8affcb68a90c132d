package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// TestTrail: what was shown of the states before is kept, and is what would be shown again.
func TestTrail(t *testing.T) {
	s := newScreen(t, 100, 40, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	another := func(o event.Object) event.Object { return withUID(o, "another") }
	_, r := s.view.selected()
	of := &changeLog{details: s.details}
	for i, e := range []event.Event{
		modified(pod(t, "web-a", "Running", 2)), removed(pod(t, "web-a", "Running", 3)),
		{Type: event.Added, Object: another(pod(t, "web-a", "Pending", 4))}, modified(another(pod(t, "web-a", "Running", 5))),
	} {
		s.clock = s.clock.Add(time.Second)
		s.deliver(e)
		kept, fresh := of.lines(r, 90), (&changeLog{details: s.details}).lines(r, 90)
		if !slices.Equal(kept, fresh) {
			t.Errorf("after %d events:\n%s\nwant\n%s", i+1, strings.Join(kept, "\n"), strings.Join(fresh, "\n"))
		}
	}
	for key, one := range of.rendered {
		if key.to.Object.ResourceVersion == "2" {
			one.text = "as it was told\n"
			of.rendered[key] = one
		}
	}
	if got := strings.Join(of.lines(r, 90), "\n"); !strings.Contains(got, "as it was told") {
		t.Errorf("it is told anew:\n%s", got)
	}
	if got := strings.Join(of.lines(r, 60), "\n"); strings.Contains(got, "as it was told") {
		t.Errorf("for another width it is not told anew:\n%s", got)
	}
}

// TestAcrossGap: of a difference that a list showed it says so itself.
func TestAcrossGap(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	s.Note(s.clock, "connection lost, trying again: refused")
	s.clock = s.clock.Add(time.Minute)
	later := modified(pod(t, "web-a", "Running", 9))
	later.Listed = true
	s.deliver(later)
	s.Note(s.clock, "reconnected; relisted: only intermediate states may be missing")
	s.press("enter")
	s.shows(`connection lost[\s\S]*~ po/web-a  found out later[\s\S]*Pending → Running`)
}

// TestFirstCrash: however often the same happens, how it began stays.
func TestFirstCrash(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	for i := range 400 {
		s.clock = s.clock.Add(time.Second)
		s.deliver(modified(pod(t, "web-a", []string{"Running", "Failed"}[i%2], i+2)))
	}
	s.press("enter", "home")
	s.shows(`:01 ~ po/web-a [\s\S]*Pending → Running[\s\S]*:02 ✗ po/web-a `)
	s.shows(`… \d+ states in between are no longer retained; the next change occurred \d+ times since `)
}

// withUID is an object of the same name.
func withUID(o event.Object, uid types.UID) event.Object {
	o.Identity.UID = uid
	return o
}

// TestEarlier: of a name that many objects have had, one after the other, the last two are
// shown. Nothing is held of objects that are no longer shown, or never were.
func TestEarlier(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	s.deliver(synced())
	for i := range 10 {
		uid, phase := types.UID(fmt.Sprint(i)), fmt.Sprint("Phase-", i)
		s.deliver(event.Event{Type: event.Added, Object: withUID(pod(t, "web-a", "Pending", 3*i), uid)}, modified(withUID(pod(t, "web-a", phase, 3*i+1), uid)))
		s.deliver(removed(withUID(pod(t, "web-a", phase, 3*i+2), uid)))
		s.clock = s.clock.Add(time.Second)
	}
	if ended := s.inventory.ListDeleted(); len(ended) != 2 {
		t.Errorf("%d objects are held", len(ended))
	}
	s.press("enter")
	s.shows(`Pending → Phase-8[\s\S]*- po/web-a[\s\S]*Pending → Phase-9[\s\S]*- po/web-a`)
	s.lacks(`Phase-7`)
	s.deliver(removed(pod(t, "web-b", "Running", 100)))
	s.pass(deletedFor)
	if ended := s.inventory.ListDeleted(); len(ended) != 0 {
		t.Errorf("%d objects are still held", len(ended))
	}
	s.shows(`Pending → Phase-9`) // what is shown stays
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
	s.pass(deletedFor)
	s.shows(`^ deleted 10s ago: YAML of pods/web-a `)
	s.deliver(event.Event{Type: event.Added, Object: pod(t, "web-a", "Pending", 3)})
	s.shows(`^ before it came back: YAML of pods/web-a `)
	s.press("d")
	s.shows(`^ YAML of pods/web-a `)
	s.shows(`phase: Pending`)
}
