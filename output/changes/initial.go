package changes

import (
	"fmt"
	"strings"
	"sync"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
)

// atStart knows what is wrong with what exists at the start, for a View.
type atStart struct {
	of *View // by which objects are named

	lock sync.Mutex // of its own: the View may wait for its reader
	// tallies are those of the targets of which not all objects have been named yet, and whole the others that
	// have not been shown.
	tallies, whole map[event.Key]*tally
}

func newAtStart(v *View) *atStart {
	return &atStart{of: v, tallies: map[event.Key]*tally{}, whole: map[event.Key]*tally{}}
}

// Count takes events before some of them are left out, with Options.Filtered: of what exists at the start it is
// said what is wrong with it.
func (a *atStart) Count(batch []event.Event) error {
	if !a.of.Prefiltered {
		return nil
	}
	return a.count(batch)
}

// countSeen counts an event that comes to the View, if it has not been counted before.
func (a *atStart) countSeen(e *event.Event) error {
	if a.of.Prefiltered {
		return nil
	}
	return a.count([]event.Event{*e})
}

// count takes objects that exist at the start into the tallies of their targets, and what becomes of
// them until all are named.
func (a *atStart) count(batch []event.Event) error {
	if a.of.ShowInitial {
		return nil
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	for i := range batch {
		e := &batch[i]
		key := e.Target.Key()
		t := a.tallies[key]
		switch {
		case e.Type == event.Synced:
			a.whole[key] = t
			delete(a.tallies, key)
			continue
		case e.Type.IsStatus(), e.Reconstructed != nil, t == nil && !e.Initial:
			continue
		case t == nil:
			t = &tally{wrong: map[objectKey]fault{}}
			a.tallies[key] = t
		}
		if err := t.take(e, a.fault); err != nil {
			return err
		}
	}
	return nil
}

// counted returns the tally of a target whose objects have been named, once; nil: nothing was counted.
func (a *atStart) counted(of event.Key) *tally {
	a.lock.Lock()
	defer a.lock.Unlock()
	t := a.whole[of]
	delete(a.whole, of)
	return t
}

// tally knows what is not as it should be, among the objects that a target has at the start, until
// all of them have been named.
type tally struct {
	seen  int // of all the objects
	found int // so far, of those that are wrong
	wrong map[objectKey]fault
}

// fault is an object that is not as it should be.
type fault struct {
	failed bool // or else it is not ready
	order  int
	text   string // the object, and why
}

// take counts an event. faultOf says what is wrong with its object.
func (t *tally) take(e *event.Event, faultOf func(*event.Event) (fault, error)) error {
	switch e.Type {
	case event.Added:
		t.seen++
	case event.Deleted:
		t.seen--
		delete(t.wrong, keyOf(e))
		return nil
	}
	f, err := faultOf(e)
	if err != nil {
		return err
	}
	before, known := t.wrong[keyOf(e)]
	switch {
	case f.text == "":
		delete(t.wrong, keyOf(e))
		return nil
	case known:
		f.order = before.order
	default:
		t.found++
		f.order = t.found
	}
	t.wrong[keyOf(e)] = f
	return nil
}

// fault is what is wrong with an object; without text if nothing is.
func (a *atStart) fault(e *event.Event) (f fault, err error) {
	if e.Object.IsEvent() || !status.MayNotBeCurrent(e.Object.GroupVersionKind(), e.Object.Raw()) {
		return f, nil
	}
	u, err := a.of.open(e.Object)
	if err != nil {
		return f, err
	}
	s := status.OfMasked(u, a.of.Compare.Masks.MaskObject)
	if !s.IsNotReady() {
		return f, nil
	}
	return fault{failed: s.Word == kstatus.FailedStatus, text: strings.TrimSpace(a.of.subject(e).String() + " " + clean(s.Message))}, nil
}

// words are what is behind the number of all; empty if nothing is wrong, or not all were seen.
func (t *tally) words(count int) (text string) {
	if t == nil || t.seen != count || len(t.wrong) == 0 {
		return ""
	}
	var failed int
	var one fault // the first of those that failed, or else of those that are not ready
	for _, f := range t.wrong {
		if f.failed {
			failed++
		}
		if one.text == "" || f.failed && !one.failed || f.failed == one.failed && f.order < one.order {
			one = f
		}
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if unready := len(t.wrong) - failed; unready > 0 {
		text += fmt.Sprintf(", %d not ready", unready)
	}
	return text + ": " + one.text
}
