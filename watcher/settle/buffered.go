package settle

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// pendingObject is the buffered changes of one object, merged into one event.
type pendingObject struct {
	id, owner   string
	event       event.Event // the latest event, with the Type and Old of the merged change
	created     bool        // the first event was ADDED
	since       time.Time
	firstChange time.Time // time of the first significant change; zero if there is none
	lastChange  time.Time // time of the last significant change
	changes     int
	size        int64
	predecessor *pendingObject // previous object with the same name that was pending at that time, or nil
	released    bool           // no longer pending
}

// overhead is the approximate memory use of a pending object without its content.
const overhead = 1 << 10

func newPendingObject(id, up string, e *event.Event, counts bool) *pendingObject {
	h := &pendingObject{id: id, owner: up, event: *e, created: e.Type == event.Added, since: e.Time, changes: 1}
	h.recordChange(e.Time, counts)
	h.updateSize()
	return h
}

// accepts reports whether an event can be merged: not after a deletion, and not an ADDED.
func (h *pendingObject) accepts(e *event.Event) bool {
	return h.event.Type != event.Deleted && e.Type != event.Added
}

// add merges an event. counts is true if the event is significant.
func (h *pendingObject) add(e *event.Event, counts bool) {
	first := h.event
	h.event = *e
	h.changes++
	h.recordChange(e.Time, counts)
	switch h.event.Listed = first.Listed || e.Listed; {
	case e.Type == event.Deleted:
		h.event.Old = event.Object{}
	case first.Type == event.Added:
		h.event.Type, h.event.Initial, h.event.Old = event.Added, first.Initial, event.Object{}
	default:
		h.event.Old, h.event.Digests = first.Old, first.Digests
	}
	h.updateSize()
}

func (h *pendingObject) recordChange(at time.Time, counts bool) {
	if !counts {
		return
	}
	if h.lastChange = at; h.firstChange.IsZero() {
		h.firstChange = at
	}
}

func (h *pendingObject) updateSize() {
	h.size = overhead + int64(len(h.event.Object.Raw()))
	if !h.event.Old.IsZero() {
		h.size *= 2
	}
}

// isSignificant reports whether an event is more than noise.
func isSignificant(e *event.Event, o change.Options) bool {
	switch {
	case e.Object.IsEvent():
		return e.Type == event.Added // neither repetitions nor expiry
	case e.Type != event.Modified, e.Old.IsZero():
		return true
	}
	return len(change.Diff(e.Old.Raw(), e.Object.Raw(), o).Changes) > 0
}

// resourceObject identifies an object within a resource. Two resources can serve the same object, as those of events do.
type resourceObject struct {
	id       string
	resource schema.GroupResource
}

func resourceObjectOf(id string, e *event.Event) resourceObject {
	return resourceObject{id, e.Target.Resource().GroupResource()}
}

type name struct {
	cluster         string
	resource        schema.GroupResource
	namespace, name string
}

func nameOf(e *event.Event) name {
	return name{e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
}
