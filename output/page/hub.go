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

// Options configure a Hub.
type Options struct {
	// Targets are watched from the start.
	Targets []event.Target
	// Title, Cluster, Server and Version are shown on the page: the watched resources, the name and the address of the
	// cluster, and the version of dwatch.
	Title, Cluster, Server, Version string
	// UTC shows times in UTC instead of the viewer's time zone.
	UTC bool
	// Compare configures which changes are noise, and which values are masked.
	Compare change.Options
	// FetchEvents requests the Events about an object and its dependents from the server, newest first. nil disables it.
	// It must be safe for concurrent use.
	FetchEvents func(ctx context.Context, cluster string, o event.Object) ([]kubeevent.Event, error)
	// FetchRevisions requests the revisions of a workload's template from the server. nil disables it. It must be safe for
	// concurrent use.
	FetchRevisions func(ctx context.Context, cluster string, o event.Object) ([]event.Object, error)
	// LookupOwners is passed to the inventory: see inventory.Options. It must be safe for concurrent use.
	LookupOwners func(cluster string, o owner.Ref) (owners []owner.Owner, known bool)
	// LookupWarning is passed to the inventory: see inventory.Options. It must be safe for concurrent use.
	LookupWarning func(cluster string, o owner.Ref) (why string, last time.Time)
	// KubeEventsFiltered is true if a filter may hide watched Kubernetes Events.
	KubeEventsFiltered bool
	// Clusters returns the watched clusters. nil means that there is only one, which Cluster names.
	Clusters func() []event.Cluster
	// Recording is shown instead of the live cluster. nil shows the live cluster.
	Recording *Recording
	// DescribeConnectionError explains a connection error to the user. nil means its Error method.
	DescribeConnectionError func(error) string
}

// Hub maintains the inventory, the rows and the messages that viewers get. It is an event.Sink that never waits for a
// viewer. It embeds its parts because viewers, requests and exports read them as members of the Hub.
type Hub struct {
	Options
	shownTime
	stream  string    // random ID
	started time.Time // start of the shown time
	// onChange is called with each change of an object before its row is updated. nil means no call.
	onChange  func(*inventory.Change)
	inventory *inventory.Inventory

	problemsCache problemsCache
	fights        *fights
	late          lateEvents

	delivering sync.Mutex    // held during Deliver
	searches   chan struct{} // semaphore for searches in all objects
	matchers   chan struct{} // semaphore for searches in changed objects

	mu sync.Mutex // guards all fields below, started, and each rowView
	signals
	log         log
	resources   map[string]*resource // by group resource, such as deployments.apps
	targets     targets
	subscribers map[*subscriber]bool
}

// shownTime is the time that a Hub shows: the present, or a time of the past. It is set before the first viewer.
type shownTime struct {
	clock  func() time.Time // the current time, or the shown time of the past
	ofPast *Coverage        // coverage of the past; nil if the Hub shows the present
	// isExpired reports whether the shown time of the past is no longer retained. nil means that it never expires.
	isExpired func() bool
}

// signals wake those who wait for a Hub. notify and end require Hub.mu to be held.
type signals struct {
	news   chan struct{} // closed when there are new messages, and then replaced
	closed chan struct{} // closed by Close
	reason string        // why it was closed
}

func newSignals() signals { return signals{news: make(chan struct{}), closed: make(chan struct{})} }

// notify says that there are new messages.
func (s *signals) notify() {
	close(s.news)
	s.news = make(chan struct{})
}

// end says that the Hub is closed. Later calls have no effect.
func (s *signals) end(reason string) {
	if !s.isClosed() {
		s.reason = reason
		close(s.closed)
	}
}

func (s *signals) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

var _ event.Sink = (*Hub)(nil)

// New returns a Hub without objects.
func New(o Options) *Hub {
	if o.DescribeConnectionError == nil {
		o.DescribeConnectionError = error.Error
	}
	h := &Hub{
		Options: o, stream: random(), started: time.Now(), shownTime: shownTime{clock: time.Now}, signals: newSignals(), log: log{max: maxLog}, resources: map[string]*resource{},
		searches: make(chan struct{}, maxSearches), matchers: make(chan struct{}, maxSearches),
		fights: newFights(), subscribers: map[*subscriber]bool{},
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

// showPast makes the Hub show a time of the past. known is what the recording covers, and began the start of the shown time.
func (h *Hub) showPast(at time.Time, known *Coverage, began time.Time) {
	h.clock, h.ofPast = func() time.Time { return at }, known
	h.startedAt(began)
}

// startedAt sets the start of the shown time.
func (h *Hub) startedAt(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started, h.targets.started = at, at
}

// random returns 128 random bits as text.
func random() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}

// Deliver implements event.Sink. It does not wait for viewers.
func (h *Hub) Deliver(ctx context.Context, batch []event.Event) error {
	h.delivering.Lock()
	defer h.delivering.Unlock()
	defer h.wake()
	defer h.late.observe(batch)
	err := h.inventory.Deliver(ctx, batch)
	if len(batch) > 0 {
		h.turn(batch[len(batch)-1].Time)
	}
	return err
}

// refresh shows what became of objects without an event until now. It waits for a delivery that is running.
func (h *Hub) refresh(now time.Time) {
	h.delivering.Lock()
	defer h.delivering.Unlock()
	if h.turn(now) {
		h.wake()
	}
}

// turn adds a message for each object whose status changed without an event: its crash loop ended, or an object that it
// owns failed or recovered. It reports whether there is one. It requires h.delivering to be held.
func (h *Hub) turn(now time.Time) (turned bool) {
	for _, s := range h.inventory.Refresh(now) {
		m := changeMessage{Type: "change", Event: string(event.Modified), Time: millis(now), called: calledBy(s.Entry)}
		h.drawTurned(s, &m)
		turned = true
	}
	return turned
}

func (h *Hub) drawTurned(s *inventory.State, m *changeMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := rowViewOf(h, s)
	if d == nil {
		return
	}
	if row := d.show(s, h.placed(s), m, h.log.next()); row != nil {
		m.Seq = h.log.next()
		head := encode(m)
		h.log.add(&entry{seq: m.Seq, head: head[:len(head)-1], row: row, key: m.Key})
	}
}

func (h *Hub) take(changes []inventory.Change) {
	for i := range changes {
		if c := &changes[i]; c.State != nil {
			if h.onChange != nil {
				h.onChange(c)
			}
			h.fights.observe(c)
			c.State = h.inventory.WithOwned(c.State, c.Event.Time)
			m := changeMessageOf(c) // slow, so without the lock
			h.draw(c, &m)
		} else if c.Event.Type != event.Heartbeat {
			h.mark(c.Event)
		}
	}
}

func (h *Hub) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notify()
}

// Close ends all viewers and subscribers. Viewers get a bye message with reason. Later calls have no effect.
func (h *Hub) Close(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(reason)
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

// draw updates the row of a changed object and adds its message to the log. It adds none if viewers would see no
// difference.
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

// resource returns the resource of a target. If viewers do not know it yet, it is added and sent to them. The Hub must be
// locked.
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

// columns sends the columns of a state to viewers if they differ from those of r. With several clusters, a resource has
// the columns of all clusters, and a column never changes its index.
func (h *Hub) columns(r *resource, s *inventory.State) {
	all := s.Columns()
	if !s.HasCells() || len(all) == 0 || len(r.Columns) > 0 && &r.Columns[0] == &all[0] || r.places[&all[0]] != nil {
		return
	}
	replaced := *r // a copy, as viewers may be encoding r
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

// placed returns the resource of a state, after it has sent the columns of the state to viewers.
func (h *Hub) placed(s *inventory.State) *resource {
	h.columns(h.resource(s.Target), s)
	return h.resource(s.Target)
}

// place stores the index in r.Columns of each column in own.
func (r *resource) place(own []inventory.Column) {
	r.places = maps.Clone(r.places)
	if len(r.places) >= maxPlaces { // the server keeps changing its columns
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

// maxPlaces is the maximum number of column lists per resource for which place stores indexes.
const maxPlaces = 100
