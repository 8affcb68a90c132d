package recording

import (
	"cmp"
	"slices"
	"time"

	"dwatch/watcher/event"
)

// unconfirmedObjects are the objects of earlier runs that the current watch has not reported yet. They are needed only if
// Options.WatchHasNoHistory is set.
type unconfirmedObjects map[objectKey]storedObject

// convert appends to dst the events to record for an event of the watch. It leaves out objects that have not changed since
// the previous run. Once the watch has listed all objects of a target, it appends deletions of the missing ones. If
// wasSynced is true, earlier runs recorded a complete list, and new objects are not initial.
func (u unconfirmedObjects) convert(dst []event.Event, e event.Event, wasSynced bool) []event.Event {
	switch {
	case e.Type == event.Synced, e.Type == event.Gap, e.Type == event.Gone:
		return append(u.sweep(dst, e), e)
	case e.Type.IsStatus():
		return append(dst, e)
	}
	e.Initial = e.Initial && !wasSynced
	key := keyOf(e.Target, e.Object)
	was, isKnown := u[key]
	delete(u, key)
	switch {
	case !isKnown:
	case was.UID != e.Object.UID:
		dst = append(dst, missedDeletion(was, e))
	case was.ResourceVersion == e.Object.ResourceVersion && e.Type != event.Deleted:
		return dst
	case e.Type == event.Added:
		e.Type, e.Initial = event.Modified, false
	}
	return append(dst, e)
}

// sweep removes the remaining objects of a target and appends their deletions, sorted by namespace and name.
func (u unconfirmedObjects) sweep(dst []event.Event, e event.Event) []event.Event {
	from := len(dst)
	for key, was := range u {
		of := event.Key{Resource: key.resource, Namespace: key.namespace, Name: key.name}
		if covers(e.Target.Key(), of) {
			delete(u, key)
			dst = append(dst, missedDeletion(was, e))
		}
	}
	slices.SortFunc(dst[from:], func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return dst
}

// missedDeletion returns the deletion of an object that was found missing when event by occurred.
func missedDeletion(was storedObject, by event.Event) event.Event {
	o := event.NewObject(was.Identity, "") // the stored content is masked already
	return event.Event{Type: event.Deleted, Target: by.Target, Object: o, FinalStateUnknown: true, Listed: true, Time: by.Time}
}

// ReportDelay tells the Recorder how long other destinations took to accept the last batch. During a long delay the watch may
// have received nothing, so the times of the next events are unreliable.
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
