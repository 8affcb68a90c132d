package settle

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// held is an object that changed, from its first state to the last.
type held struct {
	id, up  string
	event   event.Event // the last one; its type and Old say what became of the object since the first
	came    bool        // the first is that it came
	since   time.Time
	from    time.Time // of the first change that is more than noise; zero: none is
	until   time.Time // of the last one
	changes int
	size    int64
	after   *held // what had its name before, and waited then; nil: nothing
	isGone  bool  // it waits no longer
}

// overhead is what an object takes beside its content.
const overhead = 1 << 10

func newHeld(id, up string, e *event.Event, counts bool) *held {
	h := &held{id: id, up: up, event: *e, came: e.Type == event.Added, since: e.Time, changes: 1}
	h.note(e.Time, counts)
	h.measure()
	return h
}

// takes reports whether an event is one more of the same: of an object that is gone nothing is.
func (h *held) takes(e *event.Event) bool {
	return h.event.Type != event.Deleted && e.Type != event.Added
}

// add takes one more event. counts says that it is more than noise.
func (h *held) add(e *event.Event, counts bool) {
	first := h.event
	h.event = *e
	h.changes++
	h.note(e.Time, counts)
	switch h.event.Listed = first.Listed || e.Listed; {
	case e.Type == event.Deleted:
		h.event.Old = event.Object{}
	case first.Type == event.Added:
		h.event.Type, h.event.Initial, h.event.Old = event.Added, first.Initial, event.Object{}
	default:
		h.event.Old, h.event.Digests = first.Old, first.Digests
	}
	h.measure()
}

func (h *held) note(at time.Time, counts bool) {
	if !counts {
		return
	}
	if h.until = at; h.from.IsZero() {
		h.from = at
	}
}

func (h *held) measure() {
	h.size = overhead + int64(len(h.event.Object.Raw()))
	if !h.event.Old.IsZero() {
		h.size *= 2
	}
}

// isNews reports whether an event says more than that time passes.
func isNews(e *event.Event, o change.Options) bool {
	switch {
	case e.Object.IsEvent():
		return e.Type == event.Added // not how often by now, nor that it expired
	case e.Type != event.Modified, e.Old.IsZero():
		return true
	}
	return len(change.Diff(e.Old.Raw(), e.Object.Raw(), o).Changes) > 0
}

// shown is an object as a resource shows it: two may show the same, such as both of events.
type shown struct {
	id       string
	resource schema.GroupResource
}

func shownBy(id string, e *event.Event) shown {
	return shown{id, e.Target.Resource().GroupResource()}
}

type name struct {
	cluster         string
	resource        schema.GroupResource
	namespace, name string
}

func nameOf(e *event.Event) name {
	return name{e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
}
