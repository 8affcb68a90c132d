package inventory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/pack"
)

// Options say what is held.
type Options struct {
	// Where says which objects are, nil: all. What it no longer holds of leaves without a trace.
	Where func(*event.Event) bool
	// Labels and ShowLabels are as in output.TableOptions.
	Labels     []string
	ShowLabels bool
	// Compare has Change.Diff computed on arrival; a state without a change that counts takes the
	// place of the one before, unless it looks otherwise at a glance. nil: what changed is computed when it is asked for.
	Compare *change.Options
	// Alike, without Compare, is how the states of an object are compared once there are more than are held:
	// those that say what another one said are missed least.
	EvictionCompare *change.Options
	// Bare: of what was is held what Problems and Lead take, and no content: States have none, and are
	// the present ones. What an event changed is that since its Old. It takes Compare.
	WithoutContent bool
	// Masks cover what is never read, also by an expression; nil: nothing.
	Masks *change.Masks
	// Unmanaged leaves metadata.managedFields out of what is read.
	OmitManagedFields bool
	// Ended is how many objects are held that were deleted; 0: all, until Forget.
	MaxDeleted int
	// Above returns the owners of an object that is not held, of a kind that is not watched, and whether they are known
	// yet; nil: nobody can. It does not wait. It is asked about what is wrong, and with Bare also about what changed.
	LookupOwners func(cluster string, o owner.Ref) (owners []owner.Owner, known bool)
	// Warned returns what the newest Warning about an object says, and when it was said last, as far as that is known yet;
	// nil: nobody can. It does not wait. It is asked about what does not get on, and does not say why, where Events are not
	// watched.
	LookupWarning func(cluster string, o owner.Ref) (why string, last time.Time)
	// Targets are what is watched at first. SomeEvents: where Events are watched, some may be left out, so that Warned is asked,
	// too, about an object that no Warning is held of.
	Targets            []event.Target
	KubeEventsFiltered bool
	// Past: any time that was is asked for, as of a recording. Each state is held as it was, also those
	// of objects that were deleted; the oldest go where all together are too large (Held).
	FullHistory bool
}

// Inventory holds objects. It is an event.Sink.
type Inventory struct {
	options Options
	view    func([]Change)
	// What follows is for Deliver alone.
	packer  pack.Packer
	columns map[columnsKey]*columns
	// managers has those of states by their names.
	managers map[string][]string

	mu   sync.RWMutex // for all below, and for what Objects do not export
	byID map[string]*Entry
	// named has the last object of each name, which may have ended.
	named   map[name]*Entry
	ended   []*Entry // in this order
	present present
	tellers tellers
	kinds   map[schema.GroupKind]schema.GroupResource // that were seen: owners are named by their kinds
	archive archive
	unseen  unseen

	causes causes
}

var _ event.Sink = (*Inventory)(nil)

// New returns an empty Inventory. view gets all changes in order, from Deliver; it keeps none.
func New(o Options, view func([]Change)) *Inventory {
	return &Inventory{
		options: o, view: view, columns: map[columnsKey]*columns{}, kinds: map[schema.GroupKind]schema.GroupResource{}, managers: map[string][]string{},
		byID: map[string]*Entry{}, named: map[name]*Entry{}, present: newPresent(), tellers: tellersOf(o.Targets), archive: archiveOf(o), unseen: unseen{lru.New(maxUnseen)},
	}
}

// Object is one object until it was deleted; a later one of the same name is another Object.
type Entry struct {
	// ID names the object in this run, for ever: the resource and the UID, of several clusters behind
	// the name of one.
	ID              string
	Cluster         string // of several
	Resource        schema.GroupResource
	Namespace, Name string
	UID             types.UID
	// First is when it was seen first, and Initial that it existed before that.
	FirstSeen time.Time
	Initial   bool
	// Replaced is when the object of this name before it was deleted; zero: no such one is held.
	PredecessorDeleted time.Time
	// Drawn is what a view has made of the object, under a lock of the view's own.
	ViewData any

	states  []*State           // the present one last
	missing int                // how many states behind the first are no longer held
	ended   time.Time          // when it was deleted; zero if it is there
	lead    *IntentionalChange // the last change of it that somebody meant; nil: none was seen
	meant   []Cause            // the last of these, with Options.Bare, under the lock of the causes
	repeats []Repeat
	counted bool // all states that are held have their Repeat, with Options.Alike
}

type name struct {
	cluster         string
	resource        schema.GroupResource
	namespace, name string
}

func (o *Entry) called() name { return name{o.Cluster, o.Resource, o.Namespace, o.Name} }

// state is the present one, or the last.
func (o *Entry) state() *State { return o.states[len(o.states)-1] }

// Change is what an event changed.
type Change struct {
	// Event is as it was delivered. Of a mark there is nothing else.
	Event *event.Event
	// State is how the object is now; nil if it is not held: Before is then its last State, if any.
	State *State
	// Before is the state before; nil if none is known.
	Before *State
	// Diff is what Modified changed, with Options.Compare; nil: that is not known.
	Diff *change.Result
	// Meant: somebody wanted it, or it warns. Else it followed, or says how it goes. It is known, as
	// what follows, with Options.Compare and of what Counts.
	IntentionalOrWarning bool
	// Lead is the last change that was meant of the object, or of what it belongs to: the change
	// itself if it was meant and is no warning; nil if none was seen.
	CausedBy *IntentionalChange
	// Root is what the object belongs to in the end, or the object of an Event; itself if to nothing.
	// Zero if it is the lead.
	Root owner.Ref
	// Open: what is above Root is being asked for, with Options.Above and Bare.
	RootPending bool
}

// chunk is how many changes at most the view gets at once.
const chunk = 128

// Deliver implements event.Sink. It takes as long as it takes to look at the events.
func (i *Inventory) Deliver(_ context.Context, batch []event.Event) error {
	changes := make([]Change, 0, min(len(batch), chunk))
	for part := range slices.Chunk(batch, chunk) {
		changes = changes[:0]
		for n := range part {
			changes = append(changes, i.observe(&part[n]))
		}
		i.view(changes)
	}
	return nil
}

func (i *Inventory) observe(e *event.Event) Change {
	c := Change{Event: e}
	switch {
	case e.Type == event.Left:
		i.drop(e)
		return c
	case e.Type.IsKeepalive():
		return c
	case e.Type.IsStatus():
		i.mu.Lock()
		i.tellers.join(e.Target)
		i.mu.Unlock()
		return c
	case e.Type != event.Deleted && i.options.Where != nil && !i.options.Where(e):
		i.leave(&c)
		return c
	}
	c.State = i.read(e) // it takes time, and so does Between
	if c.Before = i.before(e); c.Before == nil {
		c.State.follow(&c)
		i.begin(&c)
		i.trace(&c)
		return c
	}
	s := c.State
	s.Entry = c.Before.Entry
	if e.Type == event.Deleted {
		s.keep(c.Before)
	}
	quiet := false
	if i.options.Compare != nil && e.Type == event.Modified && (!i.options.WithoutContent || !e.Old.IsZero()) {
		c.Diff = new(change.Diff(i.contentBefore(&c), e.Object.Raw(), *i.options.Compare))
		quiet = !i.options.FullHistory && len(c.Diff.Changes) == 0 && !e.Object.IsEvent() && s.looksLike(c.Before)
	}
	s.follow(&c)
	i.trace(&c)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.options.WithoutContent {
		s.Entry.states[0] = s
	} else {
		s.Entry.add(&i.archive, s, quiet)
	}
	i.present.update(s.Entry, s)
	if e.Type == event.Deleted {
		i.end(s.Entry)
	}
	return c
}

// contentBefore is that of the object before a change.
func (i *Inventory) contentBefore(c *Change) string {
	if i.options.WithoutContent {
		return c.Event.Old.Raw()
	}
	return c.Before.content.unpack()
}

// before returns the present state of the object of an event; nil if none is known.
func (i *Inventory) before(e *event.Event) *State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if o := i.byID[idOf(nameOf(e), e.Object.UID)]; o != nil && o.ended.IsZero() {
		return o.state()
	}
	return nil
}

func (i *Inventory) begin(c *Change) {
	s, called := c.State, nameOf(c.Event)
	i.mu.Lock()
	defer i.mu.Unlock()
	s.Entry = &Entry{
		ID: idOf(called, s.Object.UID), Cluster: called.cluster, Resource: called.resource, Namespace: called.namespace, Name: called.name,
		UID: s.Object.UID, FirstSeen: s.Time, Initial: s.Initial, states: []*State{s},
	}
	switch o := i.byID[s.Entry.ID]; {
	case o != nil && i.options.FullHistory: // it is selected again
		i.goOn(o, s)
		return
	case o != nil: // there again, with the same UID: the watch was wrong
		i.forget(o, o.ended)
	}
	last := i.named[called]
	if last != nil {
		s.Entry.PredecessorDeleted = last.ended
	}
	i.byID[s.Entry.ID] = s.Entry
	i.kinds[s.Target.Mapping.GroupVersionKind.GroupKind()] = called.resource
	i.tellers.join(s.Target) // its mark comes behind what it has first
	i.present.update(s.Entry, s)
	if last == nil || s.Type != event.Deleted { // else the name is another one's already
		i.named[called] = s.Entry
	}
	if s.Type == event.Deleted {
		i.end(s.Entry)
	}
}

// goOn takes the next state of an object that had gone.
func (i *Inventory) goOn(o *Entry, s *State) {
	last := o.state()
	s.Entry, o.ended = o, time.Time{}
	s.ChangeCount, s.StatusChangeCount = last.ChangeCount+s.ChangeCount, last.StatusChangeCount+s.StatusChangeCount
	i.ended = slices.DeleteFunc(i.ended, func(one *Entry) bool { return one == o })
	i.named[o.called()] = o
	if o.add(&i.archive, s, false); s.Type == event.Deleted {
		i.end(o)
	}
}

func (i *Inventory) leave(c *Change) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if o := i.byID[idOf(nameOf(c.Event), c.Event.Object.UID)]; o != nil {
		c.Before = o.state()
		i.forget(o, c.Event.Time)
	}
}

// drop lets go of the objects of a target that has left, which are there and of which nothing more is heard.
func (i *Inventory) drop(left *event.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.tellers, left.Target.Key())
	for _, o := range i.byID {
		if o.ended.IsZero() && o.IsIn(left.Target) {
			i.forget(o, left.Time)
		}
	}
}

// IsIn reports whether the object is one of those that a target has.
func (o *Entry) IsIn(t event.Target) bool {
	return o.Cluster == t.Cluster && o.Resource == t.Resource().GroupResource() &&
		(t.Namespace == "" || t.Namespace == o.Namespace) && (t.Name == "" || t.Name == o.Name)
}

func nameOf(e *event.Event) name {
	return name{e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
}

func idOf(called name, uid types.UID) string {
	id := called.resource.String() + "/" + string(uid)
	if uid == "" {
		id = called.resource.String() + "/" + called.namespace + "/" + called.name
	}
	if called.cluster != "" {
		id = called.cluster + "/" + id
	}
	return id
}

func (i *Inventory) end(o *Entry) {
	i.present.absolve(o)
	o.ended = o.state().Time
	i.ended = append(i.ended, o)
	if limit := i.options.MaxDeleted; limit > 0 && !i.options.FullHistory && len(i.ended) > limit {
		i.forget(i.ended[0], i.ended[0].ended)
	}
}

// Forget lets go of an object that was deleted, and is no longer shown; others stay.
func (i *Inventory) Forget(o *Entry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byID[o.ID] == o && !o.ended.IsZero() {
		i.forget(o, o.ended)
	}
}

// forget lets go of an object that was there, or deleted, at a time.
func (i *Inventory) forget(o *Entry, at time.Time) {
	i.present.absolve(o)
	i.archive.drop(o)
	if at.After(i.archive.forgotten) {
		i.archive.forgotten = at
	}
	delete(i.byID, o.ID)
	if i.named[o.called()] == o {
		delete(i.named, o.called())
	}
	if at := slices.Index(i.ended, o); at >= 0 { // mostly it is the first
		i.ended = slices.Delete(i.ended, at, at+1)
	}
}

// Order is how objects are listed.
func CompareStates(a, b *State) int {
	x, y := a.Entry, b.Entry
	for _, pair := range [...][2]string{
		{x.Resource.Resource, y.Resource.Resource}, {x.Resource.Group, y.Resource.Group}, {x.Namespace, y.Namespace}, {x.Name, y.Name},
	} {
		if pair[0] != pair[1] {
			return strings.Compare(pair[0], pair[1])
		}
	}
	return strings.Compare(x.ID, y.ID)
}
