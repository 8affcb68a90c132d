package page

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Options say what the page is about.
type Options struct {
	// Targets are what is watched from the start.
	Targets []event.Target
	// Title and Server say for people what is watched, and where; Version which dwatch
	// shows it.
	Title, Server, Version string
	// Compare says which changes count, and what is masked in all that is shown.
	Compare change.Options
	// Loss says for people what is wrong with a connection; nil: its error does.
	Loss func(error) string
}

// Hub holds what viewers see. It is an event.Sink that waits for nobody.
type Hub struct {
	Options
	stream  string
	started time.Time

	searches      chan struct{} // has one for each that looks at all objects
	judges        chan struct{} // has one for each that looks at what changed
	plain, packed []byte        // what pack works with

	mu        sync.Mutex // for all below
	log       log
	store     store
	resources map[string]*resource
	targets   targets
	// news is closed when there is another message.
	news chan struct{}
	// closed is closed at the end, and reason says why.
	closed chan struct{}
	reason string
}

var _ event.Sink = (*Hub)(nil)

// New returns a Hub that knows nothing yet.
func New(o Options) *Hub {
	if o.Loss == nil {
		o.Loss = error.Error
	}
	h := &Hub{
		Options: o, stream: random(), started: time.Now(),
		store: newStore(), resources: map[string]*resource{},
		news: make(chan struct{}), closed: make(chan struct{}),
	}
	h.searches, h.judges = make(chan struct{}, maxSearches), make(chan struct{}, maxSearches)
	h.targets = newTargets(o, h.started)
	for _, t := range o.Targets {
		h.resource(t)
	}
	return h
}

// random is text that nobody guesses: 128 bits.
func random() string {
	var bits [16]byte
	rand.Read(bits[:]) // it never fails
	return hex.EncodeToString(bits[:])
}

// Deliver implements event.Sink. It takes as long as it takes to look at the events, and
// waits for no viewer.
func (h *Hub) Deliver(_ context.Context, batch []event.Event) error {
	defer h.wake()
	for i := range batch {
		e := &batch[i]
		if e.Type.IsMark() {
			h.mark(e)
			continue
		}
		h.object(e)
	}
	return nil
}

// wake tells the viewers that there is something new.
func (h *Hub) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.news)
	h.news = make(chan struct{})
}

// Close says goodbye to all viewers, for this reason.
func (h *Hub) Close(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
	default:
		h.reason = reason
		close(h.closed)
	}
}

// mark takes what becomes of the watch.
func (h *Hub) mark(e *event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Type == event.Heartbeat {
		return
	}
	h.resource(e.Target)
	m := h.targets.observe(e)
	m.Seq = h.log.next()
	h.log.add(&entry{seq: m.Seq, kind: m.Type, head: encode(m), feed: m.Feed})
}

// object takes an event of an object.
func (h *Hub) object(e *event.Event) {
	var seen look
	var diff compared
	known := e.Type != event.Deleted || !e.FinalStateUnknown
	if known { // this takes time
		seen = h.look(e.Object)
	}
	compares := e.Type == event.Modified && !e.Old.IsZero()
	if compares {
		diff = h.compare(e)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	resource := h.resource(e.Target)
	seen.cells = h.cells(resource, e.Object)
	h.targets.links.Observe(e)
	m := changed{
		Type: "change", Event: string(e.Type), Time: millis(e.Time), Key: keyOf(resource.ID, e.Object),
		Resource: resource.ID, Namespace: e.Object.Namespace, Name: clip(e.Object.Name, maxName),
		Changes: diff.changes, More: diff.more, Noise: diff.noise, Text: seen.event,
	}
	r, isNew := h.record(&m, e)
	wasDeleting := r.deleting
	differs := isNew
	if known {
		differs = r.show(&seen) || differs
		r.deleting = seen.deleting
	}
	m.Feed, m.Text = h.feed(&m, e, r, compares, wasDeleting)
	if e.Type != event.Modified {
		status := r.row.Status
		m.Status = &status
	}
	if m.Feed || differs || e.Type != event.Modified {
		h.note(r, &m, e)
	}
}

// feed reports whether a change belongs into a feed, and says what its changes do not.
func (h *Hub) feed(m *changed, e *event.Event, r *record, compared bool, wasDeleting string) (feed bool, text string) {
	switch {
	case e.Object.IsEvent():
		return e.Type != event.Deleted && !e.Initial, m.Text
	case e.Type == event.Added:
		if ended := h.store.names[r.name()]; ended > 0 {
			text = "replaces the one deleted " + ago(e.Time.Sub(time.UnixMilli(ended))) + " ago"
		}
		return !e.Initial, text
	case e.Type == event.Deleted && e.FinalStateUnknown:
		return true, "found out later"
	case e.Type == event.Deleted:
		return true, ""
	case !compared:
		return true, "changed; what, is not known: the state before is not"
	case r.deleting != wasDeleting:
		return true, r.deleting
	}
	return len(m.Changes) > 0, ""
}

// record returns the record of the object of an event.
func (h *Hub) record(m *changed, e *event.Event) (r *record, isNew bool) {
	if r := h.store.records[m.Key]; r != nil && r.row.Ended == 0 {
		return r, false
	}
	r = &record{row: row{
		Key: m.Key, Resource: m.Resource, Namespace: m.Namespace, Name: m.Name, UID: string(e.Object.UID),
		First: m.Time, Initial: e.Initial, Status: state{State: "Unknown"},
	}}
	if old := h.store.records[m.Key]; old != nil { // there again, with the same UID: the watch was wrong
		h.store.forget(old)
	}
	h.store.records[m.Key] = r
	return r, true
}

// note adds a change to all that tells of it.
func (h *Hub) note(r *record, m *changed, e *event.Event) {
	m.Seq = h.log.next()
	r.identity, r.row.Seq = *e.Object.Identity, m.Seq
	if m.Feed {
		r.row.Changes++
		r.row.Changed = m.Time
		r.line.tick(m.Time)
	}
	if e.Type == event.Deleted {
		r.row.Ended = m.Time
	} else {
		r.line.enter(m.Time, r.row.Status.State)
	}
	r.encoded = encode(&r.row)
	head := encode(m)
	entry := &entry{seq: m.Seq, kind: m.Type, head: head[:len(head)-1], row: r.encoded, key: m.Key, feed: m.Feed}
	h.log.add(entry)
	if m.Feed {
		h.store.remember(r, entry.short())
	}
	if e.Type == event.Deleted {
		h.store.end(r)
	}
}

// keyOf names an object for ever.
func keyOf(resource string, o event.Object) string {
	if o.UID == "" {
		return resource + "/" + o.Namespace + "/" + clip(o.Name, maxName)
	}
	return resource + "/" + clip(string(o.UID), maxName)
}

// resource returns what viewers know of the resource of a target; they are told if
// there was none.
func (h *Hub) resource(t event.Target) *resource {
	gvr := t.Resource()
	id := gvr.GroupResource().String()
	r := h.resources[id]
	if r == nil {
		r = &resource{
			ID: id, Resource: gvr.Resource, Group: gvr.Group, Version: gvr.Version,
			Kind: t.Mapping.GroupVersionKind.Kind, Namespaced: t.Namespaced(), Columns: []column{},
		}
		h.tell(r)
	}
	return r
}

// tell tells the viewers of a resource.
func (h *Hub) tell(r *resource) {
	h.resources[r.ID] = r
	m := resourceMessage{"resource", h.log.next(), r}
	h.log.add(&entry{seq: m.Seq, kind: m.Type, head: encode(m)})
}

// cells returns what the server shows of an object; nil if it does not, or if there
// could be something in it that is masked.
func (h *Hub) cells(r *resource, o event.Object) []byte {
	text := o.Row()
	if text == "" || len(h.Compare.Masks.Paths) > 0 {
		return nil
	}
	parsed := gjson.Parse(text)
	if definitions := parsed.Get("columnDefinitions"); definitions.Raw != r.definitions {
		replaced := *r // viewers may be encoding the other
		replaced.definitions, replaced.Columns = definitions.Raw, columnsOf(definitions, schema.GroupKind{Group: r.Group, Kind: r.Kind})
		r = &replaced
		h.tell(r)
	}
	return cellsOf(parsed.Get("cells"), r.Columns, o)
}
