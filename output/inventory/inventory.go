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
)

// Options configures an Inventory.
type Options struct {
	// Where selects objects. nil selects all. An object that no longer matches is removed with its history, so Where can't
	// be combined with FullHistory.
	Where func(*event.Event) bool
	// Labels and ShowLabels add label columns, as in output.TableOptions.
	Labels     []string
	ShowLabels bool
	// Compare makes the inventory compute Change.Diff on arrival. A state that differs from its predecessor only in
	// noise then replaces it, unless its summary differs. If nil, differences are computed on request.
	Compare *change.Options
	// EvictionCompare is used if Compare is nil and an object has more states than the inventory retains. It tells
	// which changes repeat earlier ones: those states are evicted first.
	EvictionCompare *change.Options
	// WithoutContent retains only the current state of each object, without its content, and what Problems and CausedBy
	// need of the history. Differences are computed from Event.Old. It requires Compare.
	WithoutContent bool
	// Masks hides values from all readers. nil hides nothing.
	Masks *change.Masks
	// OmitManagedFields removes metadata.managedFields from the content that readers get.
	OmitManagedFields bool
	// MaxDeleted bounds the number of deleted objects that are retained. Zero retains all of them until Forget. It does
	// not apply to FullHistory.
	MaxDeleted int
	// LookupOwners returns the owners of an object whose kind is not watched. known is false while a lookup is pending.
	// It must not block, nor call the inventory, which holds its lock. It is called for unhealthy objects and, with
	// WithoutContent, for changed ones. nil disables it.
	LookupOwners func(cluster string, o owner.Ref) (owners []owner.Owner, known bool)
	// LookupWarning returns the message of the latest Warning about an object and its last time, or an empty message if
	// none is known yet. It must not block, nor call the inventory, which holds its lock. It is called for objects that
	// make no progress without giving a reason, if Events are not watched or KubeEventsFiltered is set. nil disables it.
	LookupWarning func(cluster string, o owner.Ref) (why string, last time.Time)
	// Targets are watched from the start. KubeEventsFiltered is true if a filter may hide Events: the inventory then
	// also calls LookupWarning for objects without a retained Warning.
	Targets            []event.Target
	KubeEventsFiltered bool
	// FullHistory retains each state exactly, also of deleted objects, so that queries can name any time, as for a
	// recording. The oldest states are evicted when the budget is exceeded.
	FullHistory bool
}

// Inventory is an event.Sink that stores objects and their history.
type Inventory struct {
	options Options
	view    func([]Change)
	reader  stateReader

	mu   sync.RWMutex // guards the fields below and the unexported fields of entries
	byID map[string]*Entry
	// byName maps each name to its latest object, which may be deleted.
	byName          map[name]*Entry
	deleted         []*Entry // in order of deletion
	problems        problemTracker
	inheritance     inheritance
	eventTargets    eventTargets
	kinds           map[schema.GroupKind]schema.GroupResource // of all observed objects; owner references name kinds
	archive         archive
	unwatchedCauses unwatchedCauses

	causes causeFinder
}

var _ event.Sink = (*Inventory)(nil)

// New returns an empty Inventory. Deliver calls view with all changes in order. view must not retain the slice.
func New(o Options, view func([]Change)) *Inventory {
	return &Inventory{
		options: o, view: view, reader: newStateReader(o), kinds: map[schema.GroupKind]schema.GroupResource{},
		byID: map[string]*Entry{}, byName: map[name]*Entry{}, problems: newProblemTracker(), eventTargets: newEventTargets(o.Targets), archive: newArchive(o), unwatchedCauses: unwatchedCauses{lru.New(maxUnwatchedCauses)},
	}
}

// Entry is one object from its creation to its deletion. A later object with the same name is another Entry. It is one type
// because all indexes of the Inventory refer to an object and its history by one pointer.
type Entry struct {
	// ID identifies the object within this run: resource and UID, or namespace and name without a UID, after the cluster's
	// name if there are several clusters.
	ID              string
	Cluster         string // empty if there is only one
	Resource        schema.GroupResource
	Namespace, Name string
	UID             types.UID
	// FirstSeen is the time of the first observed state. Initial is true if the object existed before the watch began.
	FirstSeen time.Time
	Initial   bool
	// PredecessorDeleted is when the previous object with this name was deleted. Zero means that none is retained.
	PredecessorDeleted time.Time
	// ViewData belongs to the view, which guards it with its own lock.
	ViewData any

	states          []*State           // in order of time; the last is current
	evicted         int                // number of evicted states after the first one
	deleted         time.Time          // time of the deletion; zero if the object exists
	left            []departure        // with Options.FullHistory
	lastIntentional *IntentionalChange // latest intentional change; nil if none was observed
	intentional     []Cause            // latest intentional changes, with Options.WithoutContent; guarded by causeFinder.mu
	repeats         []Repeat
	counted         bool // every retained state has its Repeat, with Options.EvictionCompare
}

type name struct {
	cluster         string
	resource        schema.GroupResource
	namespace, name string
}

func (o *Entry) name() name { return name{o.Cluster, o.Resource, o.Namespace, o.Name} }

// departure is when the target of an object was left, so that its later states are unknown until it returns.
type departure struct {
	at     time.Time
	number int // State.number of the last state before
}

// hasLeft reports whether the target of the object was left after state s and up to a time. Now includes all times.
func (o *Entry) hasLeft(s *State, until time.Time) bool {
	return slices.ContainsFunc(o.left, func(d departure) bool {
		return d.number == s.number && (until.Equal(Now) || !until.Before(d.at))
	})
}

// state returns the current state, or the last one of a deleted object.
func (o *Entry) state() *State { return o.states[len(o.states)-1] }

// Change describes the effect of one event.
type Change struct {
	// Event is the delivered event. The other fields are zero for a status event.
	Event *event.Event
	// State is the new state of the object. nil means that the object was removed from the inventory: Before is then its
	// last state, if any.
	State *State
	// Before is the previous state, or nil if it is unknown.
	Before *State
	// Diff is the difference of a Modified event, with Options.Compare. nil means that it is unknown.
	Diff *change.Result
	// IntentionalOrWarning is true if a person or tool made the change on purpose, or if the event is a Warning. All
	// other changes are consequences or progress. This field and the following ones are only set with Options.Compare,
	// and only for significant changes.
	IntentionalOrWarning bool
	// CausedBy is the latest intentional change of the object or of one of its owners. For an intentional change it is
	// the change itself. nil means that none was observed, or that its consequences ended too long ago.
	CausedBy *IntentionalChange
	// Root is the topmost known owner of the object, or of the object that an Event is about. An object without owners is
	// its own root. Root is zero if CausedBy is the change itself.
	Root owner.Ref
	// RootPending is true while the owners of Root are being looked up (Options.LookupOwners with WithoutContent).
	RootPending bool
}

// chunk is the maximum number of changes in one call of the view function.
const chunk = 128

// Deliver implements event.Sink. It does not block on anything except the view function.
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
		i.dropTarget(e)
		return c
	case e.Type.IsKeepalive():
		return c
	case e.Type.IsStatus():
		i.mu.Lock()
		i.eventTargets.add(e.Target)
		i.mu.Unlock()
		return c
	case e.Type != event.Deleted && i.options.Where != nil && !i.options.Where(e):
		i.filterOut(&c)
		return c
	}
	c.State = i.reader.read(e) // slow, as change.Diff is: not under the lock
	if c.Before = i.currentState(e); c.Before == nil {
		c.State.countChange(&c)
		i.addEntry(&c)
		i.findOrigin(&c)
		return c
	}
	s := c.State
	s.Entry = c.Before.Entry
	if e.Type == event.Deleted {
		s.inheritFrom(c.Before)
	}
	onlyNoise := false
	if i.options.Compare != nil && e.Type == event.Modified && (!i.options.WithoutContent || !e.Old.IsZero()) {
		c.Diff = new(change.Diff(i.contentBefore(&c), e.Object.Raw(), *i.options.Compare))
		onlyNoise = !i.options.FullHistory && len(c.Diff.Changes) == 0 && !e.Object.IsEvent() && s.looksLike(c.Before)
	}
	s.countChange(&c)
	i.findOrigin(&c)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.options.WithoutContent {
		s.Entry.states[0] = s
	} else {
		s.Entry.add(&i.archive, s, onlyNoise)
	}
	i.problems.update(s.Entry, s)
	i.inheritance.noteChange(s.Entry, s)
	if e.Type == event.Deleted {
		i.markDeleted(s.Entry)
	}
	return c
}

// contentBefore returns the content of the object before a change.
func (i *Inventory) contentBefore(c *Change) string {
	if i.options.WithoutContent {
		return c.Event.Old.Raw()
	}
	return c.Before.content.unpack()
}

// currentState returns the current state of the object of an event, or nil if the object is unknown.
func (i *Inventory) currentState(e *event.Event) *State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if o := i.byID[idOf(nameOf(e), e.Object.UID)]; o != nil && o.deleted.IsZero() {
		return o.state()
	}
	return nil
}

func (i *Inventory) addEntry(c *Change) {
	s, called := c.State, nameOf(c.Event)
	i.mu.Lock()
	defer i.mu.Unlock()
	s.Entry = &Entry{
		ID: idOf(called, s.Object.UID), Cluster: called.cluster, Resource: called.resource, Namespace: called.namespace, Name: called.name,
		UID: s.Object.UID, FirstSeen: s.Time, Initial: s.Initial, states: []*State{s},
	}
	switch o := i.byID[s.Entry.ID]; {
	case o != nil && i.options.FullHistory: // selected again
		i.resume(o, s)
		return
	case o != nil: // a deleted object reappeared with the same UID: the deletion was wrong
		i.forgetLocked(o, o.deleted)
	}
	last := i.byName[called]
	if last != nil {
		s.Entry.PredecessorDeleted = last.deleted
	}
	i.byID[s.Entry.ID] = s.Entry
	i.kinds[s.Target.Mapping.GroupVersionKind.GroupKind()] = called.resource
	i.eventTargets.add(s.Target) // its status event follows its first objects
	i.problems.update(s.Entry, s)
	i.inheritance.noteChange(s.Entry, s)
	if last == nil || s.Type != event.Deleted { // otherwise the name already belongs to a newer object
		i.byName[called] = s.Entry
	}
	if s.Type == event.Deleted {
		i.markDeleted(s.Entry)
	}
}

// resume adds a state to an entry that was marked as deleted.
func (i *Inventory) resume(o *Entry, s *State) {
	last := o.state()
	s.Entry, o.deleted = o, time.Time{}
	s.ChangeCount, s.StatusChangeCount = last.ChangeCount+s.ChangeCount, last.StatusChangeCount+s.StatusChangeCount
	i.deleted = slices.DeleteFunc(i.deleted, func(one *Entry) bool { return one == o })
	i.byName[o.name()] = o
	if o.add(&i.archive, s, false); s.Type == event.Deleted {
		i.markDeleted(o)
	}
}

func (i *Inventory) filterOut(c *Change) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if o := i.byID[idOf(nameOf(c.Event), c.Event.Object.UID)]; o != nil {
		c.Before = o.state()
		i.forgetLocked(o, c.Event.Time)
	}
}

// dropTarget removes the existing objects of a target that is no longer watched. With Options.FullHistory, it retains their
// states for queries of earlier times.
func (i *Inventory) dropTarget(left *event.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.eventTargets, left.Target.Key())
	for _, o := range i.byID {
		switch {
		case !o.deleted.IsZero(), !o.IsIn(left.Target):
		case i.options.FullHistory:
			o.left = append(o.left, departure{left.Time, o.state().number})
			i.problems.remove(o)
		default:
			i.forgetLocked(o, left.Time)
		}
	}
}

// IsIn reports whether the target selects the object by cluster, resource, namespace and name.
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

func (i *Inventory) markDeleted(o *Entry) {
	i.problems.remove(o)
	o.deleted = o.state().Time
	i.deleted = append(i.deleted, o)
	if limit := i.options.MaxDeleted; limit > 0 && !i.options.FullHistory && len(i.deleted) > limit {
		i.forgetLocked(i.deleted[0], i.deleted[0].deleted)
	}
}

// Forget removes a deleted object that no view shows any more. It does nothing if the object exists.
func (i *Inventory) Forget(o *Entry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byID[o.ID] == o && !o.deleted.IsZero() {
		i.forgetLocked(o, o.deleted)
	}
}

// forgetLocked removes an object that existed, or was deleted, at a time. It requires i.mu to be held.
func (i *Inventory) forgetLocked(o *Entry, at time.Time) {
	i.problems.remove(o)
	i.archive.drop(o)
	if at.After(i.archive.forgottenUntil) {
		i.archive.forgottenUntil = at
	}
	delete(i.byID, o.ID)
	if i.byName[o.name()] == o {
		delete(i.byName, o.name())
	}
	if at := slices.Index(i.deleted, o); at >= 0 { // usually the first one
		i.deleted = slices.Delete(i.deleted, at, at+1)
	}
}

// CompareStates orders states by resource, group, namespace, name and ID.
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
