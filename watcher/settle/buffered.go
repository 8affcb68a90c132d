package settle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// buffer contains the pending objects.
type buffer struct {
	objects  []*pendingObject                  // in the order of their first event
	byObject map[resourceObject]*pendingObject // latest pending entry of each object
	byName   map[name]*pendingObject           // latest pending entry of each name
	bytes    int64                             // total size of objects
}

func newBuffer() buffer {
	return buffer{byObject: map[resourceObject]*pendingObject{}, byName: map[name]*pendingObject{}}
}

// add merges an event into the pending object. If there is none, or it does not accept the event, add creates one.
func (b *buffer) add(id, ownerID string, e *event.Event, significant bool) {
	object := resourceObjectOf(id, e)
	p := b.byObject[object]
	if p != nil && p.accepts(e) {
		b.bytes -= p.size
		p.owner = ownerID // an owner may have been set
		p.add(e, significant)
	} else {
		name := nameOf(e)
		p = newPendingObject(id, ownerID, e, significant)
		p.predecessor = b.byName[name]
		b.objects, b.byObject[object], b.byName[name] = append(b.objects, p), p, p
	}
	b.bytes += p.size
}

// release marks an object as released, and removes it from the indexes. removeReleased must follow.
func (b *buffer) release(p *pendingObject) {
	p.released = true
	b.bytes -= p.size
	if object := resourceObjectOf(p.id, &p.event); b.byObject[object] == p {
		delete(b.byObject, object)
	}
	if name := nameOf(&p.event); b.byName[name] == p {
		delete(b.byName, name)
	}
}

// removeReleased removes the released objects.
func (b *buffer) removeReleased() {
	b.objects = slices.DeleteFunc(b.objects, func(p *pendingObject) bool { return p.released })
}

// changes returns the number of buffered events.
func (b *buffer) changes() (n int) {
	for _, p := range b.objects {
		n += p.changes
	}
	return n
}

// pendingObject contains the buffered changes of one object, merged into one event.
type pendingObject struct {
	id          string         // as returned by idOf
	owner       string         // ID of the owner; empty if there is none
	event       event.Event    // the latest event, changed to describe all buffered changes
	created     bool           // the first buffered event was ADDED
	since       time.Time      // time of the first buffered event
	firstChange time.Time      // time of the first significant change; zero if there is none
	lastChange  time.Time      // time of the last significant change; zero if there is none
	changes     int            // number of buffered events
	size        int64          // approximate memory use in bytes
	predecessor *pendingObject // entry with the same name that was pending when this one was created, or nil
	released    bool           // no longer pending
}

// overhead is the approximate memory use of one state of a pending object without its content.
const overhead = 1 << 10

func newPendingObject(id, ownerID string, e *event.Event, significant bool) *pendingObject {
	p := &pendingObject{id: id, owner: ownerID, event: *e, created: e.Type == event.Added, since: e.Time, changes: 1}
	p.recordChange(e.Time, significant)
	p.updateSize()
	return p
}

// accepts reports whether an event can be merged: not after a deletion, and not an ADDED.
func (p *pendingObject) accepts(e *event.Event) bool {
	return p.event.Type != event.Deleted && e.Type != event.Added
}

// add merges an event that accepts allows.
func (p *pendingObject) add(e *event.Event, significant bool) {
	first := p.event
	p.event = *e
	p.changes++
	p.recordChange(e.Time, significant)
	switch p.event.Listed = first.Listed || e.Listed; {
	case e.Type == event.Deleted:
		p.event.Old = event.Object{}
	case first.Type == event.Added:
		p.event.Type, p.event.Initial, p.event.Old = event.Added, first.Initial, event.Object{}
	default:
		p.event.Old, p.event.Digests = first.Old, first.Digests
	}
	p.updateSize()
}

func (p *pendingObject) recordChange(at time.Time, significant bool) {
	if !significant {
		return
	}
	if p.lastChange = at; p.firstChange.IsZero() {
		p.firstChange = at
	}
}

func (p *pendingObject) updateSize() {
	p.size = overhead + int64(len(p.event.Object.Raw()))
	if !p.event.Old.IsZero() {
		p.size *= 2
	}
}

// isSignificant reports whether an event is more than noise. A Kubernetes Event is significant when it is created, but not
// when it is repeated or expires.
func isSignificant(e *event.Event, o change.Options) bool {
	switch {
	case e.Object.IsEvent():
		return e.Type == event.Added
	case e.Type != event.Modified, e.Old.IsZero():
		return true
	}
	return len(change.Diff(e.Old.Raw(), e.Object.Raw(), o).Changes) > 0
}

// resourceObject identifies an object within a resource. Two resources can serve the same object: events and
// events.events.k8s.io do.
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
