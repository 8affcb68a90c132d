package changes

import (
	"fmt"
	"strings"
	"sync"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
)

// initialTallies counts the initial objects of each target that are not ready.
type initialTallies struct {
	view *View // for the names of objects

	lock sync.Mutex // separate from View.mu, because the View may block in a write
	// tallies are the tallies of targets without a Synced event yet. complete are the others, until they are shown.
	tallies, complete map[event.Key]*tally
}

func newInitialTallies(v *View) *initialTallies {
	return &initialTallies{view: v, tallies: map[event.Key]*tally{}, complete: map[event.Key]*tally{}}
}

// Count takes all events if Options.Prefiltered is set, including events that are filtered out afterwards. Without Prefiltered it does
// nothing.
func (a *initialTallies) Count(batch []event.Event) error {
	if !a.view.Prefiltered {
		return nil
	}
	return a.count(batch)
}

// countSeen counts an event that the View receives, unless Count does.
func (a *initialTallies) countSeen(e *event.Event) error {
	if a.view.Prefiltered {
		return nil
	}
	return a.count([]event.Event{*e})
}

// count adds initial objects, and their changes until the Synced event, to the tallies of their targets.
func (a *initialTallies) count(batch []event.Event) error {
	if a.view.ShowInitial {
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
			a.complete[key] = t
			delete(a.tallies, key)
			continue
		case e.Type.IsStatus(), e.Reconstructed != nil, t == nil && !e.Initial:
			continue
		case t == nil:
			t = &tally{faults: map[objectKey]fault{}}
			a.tallies[key] = t
		}
		if err := t.add(e, a.fault); err != nil {
			return err
		}
	}
	return nil
}

// takeComplete removes and returns the complete tally of a target, or nil if there is none.
func (a *initialTallies) takeComplete(of event.Key) *tally {
	a.lock.Lock()
	defer a.lock.Unlock()
	t := a.complete[of]
	delete(a.complete, of)
	return t
}

// tally has the initial objects of a target that have failed or are not ready.
type tally struct {
	seen   int // number of objects
	found  int // number of faults so far, including ended ones
	faults map[objectKey]fault
}

// fault describes an object that has failed or is not ready.
type fault struct {
	failed bool
	order  int    // by time
	text   string // the object and the reason
}

// add counts an event. faultOf returns the fault of its object, if any.
func (t *tally) add(e *event.Event, faultOf func(*event.Event) (fault, error)) error {
	switch e.Type {
	case event.Added:
		t.seen++
	case event.Deleted:
		t.seen--
		delete(t.faults, keyOf(e))
		return nil
	}
	f, err := faultOf(e)
	if err != nil {
		return err
	}
	before, known := t.faults[keyOf(e)]
	switch {
	case f.text == "":
		delete(t.faults, keyOf(e))
		return nil
	case known:
		f.order = before.order
	default:
		t.found++
		f.order = t.found
	}
	t.faults[keyOf(e)] = f
	return nil
}

// fault returns the fault of an object. Its text is empty if the object is ready.
func (a *initialTallies) fault(e *event.Event) (f fault, err error) {
	if e.Object.IsEvent() || !status.MayNotBeCurrent(e.Object.GroupVersionKind(), e.Object.Raw()) {
		return f, nil
	}
	u, err := a.view.open(e.Object)
	if err != nil {
		return f, err
	}
	s := status.OfMasked(u, a.view.Compare.Masks.MaskObject)
	if !s.IsNotReady() {
		return f, nil
	}
	return fault{failed: s.Word == kstatus.FailedStatus, text: strings.TrimSpace(a.view.subject(e).String() + " " + clean(s.Message))}, nil
}

// words returns the text that follows the number of objects. It is empty if all are ready, or if some objects were not counted.
func (t *tally) words(count int) (text string) {
	if t == nil || t.seen != count || len(t.faults) == 0 {
		return ""
	}
	var failed int
	var one fault // the first that failed, or else the first that is not ready
	for _, f := range t.faults {
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
	if unready := len(t.faults) - failed; unready > 0 {
		text += fmt.Sprintf(", %d not ready", unready)
	}
	return text + ": " + one.text
}
