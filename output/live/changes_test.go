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

// TestRenderedSteps checks that the changes of an object reuse rendered steps for the same width, and are equal to newly rendered
// ones.
func TestRenderedSteps(t *testing.T) {
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
		reused, fresh := of.lines(r, 90), (&changeLog{details: s.details}).lines(r, 90)
		if !slices.Equal(reused, fresh) {
			t.Errorf("after %d events: got\n%s\nwant\n%s", i+1, strings.Join(reused, "\n"), strings.Join(fresh, "\n"))
		}
	}
	for key, one := range of.rendered {
		if key.to.Object.ResourceVersion == "2" {
			one.text = "reused step\n"
			of.rendered[key] = one
		}
	}
	if got := strings.Join(of.lines(r, 90), "\n"); !strings.Contains(got, "reused step") {
		t.Errorf("same width: the step was rendered again:\n%s", got)
	}
	if got := strings.Join(of.lines(r, 60), "\n"); strings.Contains(got, "reused step") {
		t.Errorf("another width: the step was not rendered again:\n%s", got)
	}
}

// TestChangeFoundByList checks that a change that a relist found is marked as such, after the notes about the lost connection.
func TestChangeFoundByList(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	s.Note(s.clock, "connection lost, trying again: refused")
	s.clock = s.clock.Add(time.Minute)
	later := modified(pod(t, "web-a", "Running", 9))
	later.Listed = true
	s.deliver(later)
	s.Note(s.clock, "reconnected; relisted: only intermediate states may be missing")
	s.press("enter")
	s.shows(`connection lost[\s\S]*~ po/web-a  noticed later[\s\S]*Pending → Running`)
}

// TestRepeatedChanges checks that the first of many repeated changes are retained, with a note about the repetitions.
func TestRepeatedChanges(t *testing.T) {
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

// withUID sets the UID of an object, and returns it.
func withUID(o event.Object, uid types.UID) event.Object {
	o.Identity.UID = uid
	return o
}

// TestPredecessor checks that the changes of an object include its predecessor of the same name, and that the inventory releases
// earlier ones, and objects that no row shows.
func TestPredecessor(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	s.deliver(synced())
	for i := range 10 {
		uid, phase := types.UID(fmt.Sprint(i)), fmt.Sprint("Phase-", i)
		s.deliver(event.Event{Type: event.Added, Object: withUID(pod(t, "web-a", "Pending", 3*i), uid)}, modified(withUID(pod(t, "web-a", phase, 3*i+1), uid)))
		s.deliver(removed(withUID(pod(t, "web-a", phase, 3*i+2), uid)))
		s.clock = s.clock.Add(time.Second)
	}
	if deleted := s.inventory.ListDeleted(); len(deleted) != 2 {
		t.Errorf("%d deleted objects are retained, want 2", len(deleted))
	}
	s.press("enter")
	s.shows(`Pending → Phase-8[\s\S]*- po/web-a[\s\S]*Pending → Phase-9[\s\S]*- po/web-a`)
	s.lacks(`Phase-7`)
	s.deliver(removed(pod(t, "web-b", "Running", 100)))
	s.pass(deletedFor)
	if deleted := s.inventory.ListDeleted(); len(deleted) != 0 {
		t.Errorf("%d deleted objects are retained after the row was removed, want none", len(deleted))
	}
	s.shows(`Pending → Phase-9`) // the pager keeps its text
}

// TestPagerOfDeletedObject checks that the title of a pager tells when the object is deleted, and when another one has its name.
func TestPagerOfDeletedObject(t *testing.T) {
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
	s.shows(`^ before it was recreated: YAML of pods/web-a `)
	s.press("d")
	s.shows(`^ YAML of pods/web-a `)
	s.shows(`phase: Pending`)
}
