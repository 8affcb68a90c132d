package broadcast

import (
	"slices"

	"dwatch/watcher/event"
)

// reached contains the newest resourceVersion that a watch has reported, by target. The watch has
// reported every change up to that version, and another watch may report them again. A nil map
// records nothing.
type reached map[event.Key]string

func (r reached) note(batch []event.Event) {
	if r == nil {
		return
	}
	for i := range batch {
		v := versionOf(&batch[i])
		if v == "" {
			continue
		}
		if key := batch[i].Target.Key(); r[key] == "" || event.Newer(v, r[key]) {
			r[key] = v
		}
	}
}

// missing returns batches of another watch without the events that this watch has reported. When
// the other watch has passed the recorded version of a target, its events are not compared any
// more.
func (r reached) missing(batches [][]event.Event) [][]event.Event {
	for i, batch := range batches {
		if len(r) == 0 {
			break
		}
		batches[i] = slices.DeleteFunc(slices.Clone(batch), r.has)
	}
	return batches
}

// has reports whether e has been reported.
func (r reached) has(e event.Event) bool {
	if e.Type.IsKeepalive() {
		return false
	}
	version, found := r[e.Target.Key()]
	if !found {
		return false
	}
	v := versionOf(&e)
	isNew := v != "" && event.Newer(v, version)
	if isNew && !e.Listed || v == "" && e.Type == event.Gap { // events of a list have no order
		delete(r, e.Target.Key())
	}
	return !isNew && e.Type != event.Gap && (v != "" || e.Type == event.Synced) // a Gap also ends an outage
}

// versionOf returns the resourceVersion of an event in the order of its target, or an empty string
// if it has none.
func versionOf(e *event.Event) string {
	switch {
	case e.Type == event.Synced, e.Type == event.Gap:
		return e.ResourceVersion
	case e.Type.IsStatus(), e.Type == event.Deleted && e.FinalStateUnknown: // the object has the version of its last known state
		return ""
	}
	return e.Object.ResourceVersion
}
