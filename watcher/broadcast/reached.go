package broadcast

import (
	"slices"

	"dwatch/watcher/event"
)

// reached is how far a watch has come, by target: the newest resourceVersion that it has shown. It has reported all that
// happened up to there, which another watch may be about to report. nil: nobody wants to know.
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

// missing returns what of the other watch that one has not reported. When the other one has come as far, there is nothing
// to compare any more.
func (r reached) missing(batches [][]event.Event) [][]event.Event {
	for i, batch := range batches {
		if len(r) == 0 {
			break
		}
		batches[i] = slices.DeleteFunc(slices.Clone(batch), r.has)
	}
	return batches
}

// has reports whether an event was reported.
func (r reached) has(e event.Event) bool {
	if e.Type.IsKeepalive() {
		return false
	}
	to, is := r[e.Target.Key()]
	if !is {
		return false
	}
	v := versionOf(&e)
	isNew := v != "" && event.Newer(v, to)
	if isNew && !e.Listed || v == "" && e.Type == event.Gap { // a list is in no order
		delete(r, e.Target.Key())
	}
	return !isNew && e.Type != event.Gap && (v != "" || e.Type == event.Synced) // a Gap also says that the watch goes on
}

// versionOf is where in the order of its target an event is; empty: it is not known.
func versionOf(e *event.Event) string {
	switch {
	case e.Type == event.Synced, e.Type == event.Gap:
		return e.ResourceVersion
	case e.Type.IsStatus(), e.Type == event.Deleted && e.FinalStateUnknown: // which has that of the last state
		return ""
	}
	return e.Object.ResourceVersion
}
