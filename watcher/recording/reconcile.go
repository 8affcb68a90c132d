package recording

import (
	"cmp"
	"slices"
	"time"

	"dwatch/watcher/event"
)

// unseen is what earlier runs have left, of which a watch that begins anew (Options.Anew) has not said yet
// what became of it. It is what a ledger is that was given the Past: of what is there one of the two knows,
// and never both.
type unconfirmedObjects map[objectKey]storedObject

// relate appends to dst as what a recording has an event that is new to who else gets it: an object that
// it has as it is is left out, and what has gone since the run before goes when all have been named. wasAll:
// that run had all that there was.
func (u unconfirmedObjects) convert(dst []event.Event, e event.Event, wasAll bool) []event.Event {
	switch {
	case e.Type == event.Synced, e.Type == event.Gap, e.Type == event.Gone:
		return append(u.sweep(dst, e), e)
	case e.Type.IsStatus():
		return append(dst, e)
	}
	e.Initial = e.Initial && !wasAll
	key := keyOf(e.Target, e.Object)
	was, isLeft := u[key]
	delete(u, key)
	switch {
	case !isLeft:
	case was.UID != e.Object.UID:
		dst = append(dst, unseenDeletion(was, e))
	case was.ResourceVersion == e.Object.ResourceVersion && e.Type != event.Deleted:
		return dst
	case e.Type == event.Added:
		e.Type, e.Initial = event.Modified, false
	}
	return append(dst, e)
}

// sweep appends that all that is left of a target is gone, by namespace and name.
func (u unconfirmedObjects) sweep(dst []event.Event, e event.Event) []event.Event {
	from := len(dst)
	for key, was := range u {
		of := event.Key{Resource: key.resource, Namespace: key.namespace, Name: key.name}
		if covers(e.Target.Key(), of) {
			delete(u, key)
			dst = append(dst, unseenDeletion(was, e))
		}
	}
	slices.SortFunc(dst[from:], func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return dst
}

// lost is the deletion of an object that nobody saw, found out by an event.
func unseenDeletion(was storedObject, by event.Event) event.Event {
	o := event.NewObject(was.Identity, "") // what is held of it is masked already
	return event.Event{Type: event.Deleted, Target: by.Target, Object: o, FinalStateUnknown: true, Listed: true, Time: by.Time}
}

// Delayed says how long it took until others had what was delivered last: it may be that nothing was
// received meanwhile.
func (r *Recorder) ReportDelay(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if by <= delayThreshold || r.delayed {
		return
	}
	if r.delayed = true; r.ProbeFreshness != nil {
		r.ProbeFreshness()
	}
}
