package page

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// Options say what the page is about.
type Options struct {
	// Targets are what is watched from the start.
	Targets []event.Target
	// Title, Cluster and Server say for people what is watched, in which cluster, at which address;
	// Version which dwatch shows it.
	Title, Cluster, Server, Version string
	// UTC shows times in UTC, and not in the zone of who looks.
	UTC bool
	// Compare says which changes count, and what is masked in all that is shown.
	Compare change.Options
	// Events asks the server for the Events about an object and what it owns, the newest first; nil: nobody can.
	// It is called by several goroutines.
	FetchEvents func(ctx context.Context, cluster string, o event.Object) ([]kubeevent.Event, error)
	// Revisions asks the server for the revisions of the template of a workload; nil: nobody can. It is called by
	// several goroutines.
	FetchRevisions func(ctx context.Context, cluster string, o event.Object) ([]event.Object, error)
	// Above returns the owners of an object that is not watched, and whether they are known yet; nil: nobody can. It is
	// called by several goroutines.
	LookupOwners func(cluster string, o owner.Ref) (owners []owner.Owner, known bool)
	// Warned returns what the newest Warning about an object says, and when it was said last, as far as that is known yet;
	// nil: nobody can. It is called by several goroutines.
	LookupWarning func(cluster string, o owner.Ref) (why string, last time.Time)
	// SomeEvents: where Events of Kubernetes are watched, some may be left out before.
	KubeEventsFiltered bool
	// Clusters returns which there are, of several; nil: it is one, which Cluster names.
	Clusters func() []event.Cluster
	// Past is what is shown of a recording; nil: the present is.
	Recording *Recording
	// Loss says for people what is wrong with a connection; nil: its error does.
	DescribeConnectionError func(error) string
}

// Hub draws the inventory for viewers. It is an event.Sink that waits for nobody.
type Hub struct {
	Options
	stream  string
	started time.Time
	clock   func() time.Time // what is shown is as of then
	ofPast  *Coverage        // of the past; nil: the present is shown
	// lapsed reports whether what is shown of the past is no longer held; nil: that never is.
	isExpired func() bool
	// seen is called with each change of an object, before it is drawn; nil: nothing is.
	onChange  func(*inventory.Change)
	inventory *inventory.Inventory

	problemsCache problemsCache
	fights        *fights
	late          lateEvents

	delivering sync.Mutex    // while events are taken
	searches   chan struct{} // has one for each that looks at all objects
	matchers   chan struct{} // has one for each that looks at what changed

	mu          sync.Mutex // for all below, and for each drawing of an object
	log         log
	resources   map[string]*resource
	targets     targets
	news        chan struct{} // closed when there is another message
	closed      chan struct{} // closed at the end
	reason      string        // why it was closed
	subscribers map[*subscriber]bool
}

var _ event.Sink = (*Hub)(nil)

// New returns a Hub that knows nothing yet.
func New(o Options) *Hub {
	if o.DescribeConnectionError == nil {
		o.DescribeConnectionError = error.Error
	}
	h := &Hub{
		Options: o, stream: random(), started: time.Now(), clock: time.Now, log: log{max: maxLog}, resources: map[string]*resource{},
		searches: make(chan struct{}, maxSearches), matchers: make(chan struct{}, maxSearches),
		fights: newFights(), news: make(chan struct{}), closed: make(chan struct{}), subscribers: map[*subscriber]bool{},
	}
	h.inventory = inventory.New(inventory.Options{
		Compare: &h.Compare, Masks: o.Compare.Masks, OmitManagedFields: true, MaxDeleted: maxEnded, LookupOwners: o.LookupOwners, LookupWarning: o.LookupWarning, Targets: o.Targets, KubeEventsFiltered: o.KubeEventsFiltered,
	}, h.take)
	h.targets = newTargets(o, h.started)
	for _, t := range o.Targets {
		h.resource(t)
	}
	return h
}

// startedAt says when what is shown begins.
func (h *Hub) startedAt(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started, h.targets.started = at, at
}

// random is text that nobody guesses: 128 bits.
func random() string {
	var bits [16]byte
	rand.Read(bits[:]) // it never fails
	return hex.EncodeToString(bits[:])
}

// Deliver implements event.Sink. It waits for no viewer.
func (h *Hub) Deliver(ctx context.Context, batch []event.Event) error {
	h.delivering.Lock()
	defer h.delivering.Unlock()
	defer h.wake()
	defer h.late.observe(batch)
	return h.inventory.Deliver(ctx, batch)
}

func (h *Hub) take(changes []inventory.Change) {
	for i := range changes {
		if c := &changes[i]; c.State != nil {
			if h.onChange != nil {
				h.onChange(c)
			}
			h.fights.observe(c)
			m := changeMessageOf(c) // it takes time
			h.draw(c, &m)
		} else if c.Event.Type != event.Heartbeat {
			h.mark(c.Event)
		}
	}
}

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
	if !h.isClosed() {
		h.reason = reason
		close(h.closed)
	}
}

func (h *Hub) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

func (h *Hub) mark(e *event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.publish(&inventory.Change{Event: e})
	h.resource(e.Target)
	m := h.targets.observe(e)
	m.Seq = h.log.next()
	h.log.add(&entry{seq: m.Seq, head: encode(m), feed: m.Feed})
}

// draw shows viewers a change, if there is anything to be seen of it.
func (h *Hub) draw(c *inventory.Change, m *changeMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := c.State
	h.publish(c)
	resource := h.placed(s)
	h.targets.links.Observe(c.Event)
	d := rowViewOf(h, s)
	if d == nil {
		d = &rowView{}
		s.Entry.ViewData = d
	}
	if past, held := h.inventory.History(s.Entry.ID); held {
		d.by = past.Managers()
	}
	seen := d.show(s, resource, m, h.log.next())
	if seen == nil {
		return
	}
	m.Seq = h.log.next()
	switch {
	case c.CausedBy == nil:
	case c.CausedBy.Entry == s.Entry && c.IntentionalOrWarning:
		c.CausedBy.ViewNumber = m.Seq
	case !c.IntentionalOrWarning:
		m.Lead, m.Root = c.CausedBy.ViewNumber, nil
	}
	head := encode(m)
	h.log.add(&entry{seq: m.Seq, head: head[:len(head)-1], row: seen, key: m.Key, feed: m.Feed})
}

// resource returns what viewers know of the resource of a target; they get it if there was none.
func (h *Hub) resource(t event.Target) *resource {
	gvr := t.Resource()
	id := gvr.GroupResource().String()
	r := h.resources[id]
	if r == nil {
		r = &resource{
			ID: id, Resource: gvr.Resource, Group: gvr.Group, Version: gvr.Version,
			Kind: t.Mapping.GroupVersionKind.Kind, Namespaced: t.Namespaced(), Columns: []inventory.Column{},
		}
		h.addResource(r)
	}
	return r
}

func (h *Hub) addResource(r *resource) {
	h.resources[r.ID] = r
	m := resourceMessage{"resource", h.log.next(), r}
	h.log.add(&entry{seq: m.Seq, head: encode(m)})
}

// columns gives viewers the columns of a state, if they have others. Of several clusters they get those
// of all, in which none ever has another place.
func (h *Hub) columns(r *resource, s *inventory.State) {
	all := s.Columns()
	if !s.HasCells() || len(all) == 0 || len(r.Columns) > 0 && &r.Columns[0] == &all[0] || r.places[&all[0]] != nil {
		return
	}
	replaced := *r // viewers may be encoding the other
	replaced.Columns = all
	if h.Clusters != nil {
		replaced.Columns = inventory.MergeColumns(r.Columns, all)
	}
	replaced.Columns = replaced.Columns[:min(len(replaced.Columns), maxCells)]
	if h.Clusters != nil {
		replaced.place(all)
	}
	if len(replaced.Columns) == len(r.Columns) && h.Clusters != nil {
		h.resources[r.ID] = &replaced
		return
	}
	h.addResource(&replaced)
}

// placed is the resource of a state, whose columns it has.
func (h *Hub) placed(s *inventory.State) *resource {
	h.columns(h.resource(s.Target), s)
	return h.resource(s.Target)
}

// place notes where the cells of rows with columns of their own stand.
func (r *resource) place(own []inventory.Column) {
	r.places = maps.Clone(r.places)
	if len(r.places) >= maxPlaces { // a server that never sends the same twice
		clear(r.places)
	}
	if r.places == nil {
		r.places = map[*inventory.Column][]int{}
	}
	places := make([]int, len(own))
	for i, c := range own {
		places[i] = slices.IndexFunc(r.Columns, func(known inventory.Column) bool { return known.Header() == c.Header() })
	}
	r.places[&own[0]] = places
}

// maxPlaces is of how many different columns it is known where they stand.
const maxPlaces = 100
