package inventory

import (
	"cmp"
	"errors"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// Now is passed to queries to ask for the current state.
var Now time.Time

// ErrNotRetained means that the inventory no longer retains the requested time.
var ErrNotRetained = errors.New("the state at that time is no longer retained")

// lastState returns the state of an object at some time, or nil if it did not exist.
type lastState func(*Entry) *State

// lastAt returns the lastState for a time. It requires i.mu to be held.
func (i *Inventory) lastAt(t time.Time) (lastState, error) {
	switch {
	case t.Equal(Now):
		return (*Entry).existing, nil
	case !i.options.FullHistory || t.Before(i.archive.completeSince):
		return nil, ErrNotRetained
	}
	return func(o *Entry) *State {
		n := o.until(t)
		if n == 0 || o.states[n-1].Type == event.Deleted || o.hasLeft(o.states[n-1], t) {
			return nil
		}
		return o.states[n-1]
	}, nil
}

// existing returns the current state, or nil if the object was deleted or its target was left.
func (o *Entry) existing() *State {
	if !o.deleted.IsZero() || o.hasLeft(o.state(), Now) {
		return nil
	}
	return o.state()
}

// until returns the number of states that the object had up to a time.
func (o *Entry) until(t time.Time) int {
	return sort.Search(len(o.states), func(n int) bool { return o.states[n].Time.After(t) })
}

// RetainedSince returns the time from which on no state is missing because of the memory budget, or because its object was
// removed. Zero means that no state is missing.
func (i *Inventory) RetainedSince() time.Time {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.archive.completeSince
}

// ListAt returns the objects that existed at a time and for which keep returns true, in the order of CompareStates. A nil
// keep selects all. Without Options.FullHistory the time must be Now.
func (i *Inventory) ListAt(t time.Time, keep func(*State) bool) ([]*State, error) {
	i.mu.RLock()
	last, err := i.lastAt(t)
	if err != nil {
		i.mu.RUnlock()
		return nil, err
	}
	all := make([]*State, 0, len(i.byID))
	for _, o := range i.byID {
		if s := last(o); s != nil {
			all = append(all, s)
		}
	}
	i.mu.RUnlock()
	if keep != nil {
		all = slices.DeleteFunc(all, func(s *State) bool { return !keep(s) })
	}
	slices.SortFunc(all, CompareStates)
	return all, nil
}

// Transition is one change of an object. Before is nil if the object was created or first seen, or if the previous state was
// evicted.
type Transition struct{ Before, State *State }

// Transitions returns the retained changes after a time and up to another time, in order. A zero until means no limit.
// The initial states of objects are not included.
func (i *Inventory) Transitions(after, until time.Time) []Transition {
	return i.transitions(after, until, false)
}

// transitions is Transitions. If initial is true, it includes the initial states.
func (i *Inventory) transitions(after, until time.Time, initial bool) (all []Transition) {
	i.mu.RLock()
	for _, o := range i.byID {
		for n := o.until(after); n < len(o.states); n++ {
			s := o.states[n]
			if !until.IsZero() && s.Time.After(until) {
				break
			}
			one := Transition{State: s}
			if n > 0 && s.EvictedSince(o.states[n-1]) == 0 && o.states[n-1].Type != event.Deleted {
				one.Before = o.states[n-1]
			}
			if initial || !s.Initial {
				all = append(all, one)
			}
		}
	}
	i.mu.RUnlock()
	slices.SortStableFunc(all, func(a, b Transition) int {
		return cmp.Or(a.State.Time.Compare(b.State.Time), CompareStates(a.State, b.State), a.State.number-b.State.number)
	})
	return all
}

// IsSignificant is Change.IsSignificant for a transition.
func (s Transition) IsSignificant(o change.Options) bool {
	e := s.State.ToEvent(s.Before)
	c := Change{Event: &e, State: s.State, Before: s.Before}
	if s.Before != nil && e.Type == event.Modified && s.State.EventType == "" {
		c.Diff = new(DiffStates(s.Before, s.State, o))
	}
	return c.IsSignificant()
}

// BecameFailed reports whether the object failed in this transition.
func (s Transition) BecameFailed() bool {
	return s.State.Status == kstatus.FailedStatus && s.State.Type != event.Deleted && (s.Before == nil || s.Before.Status != kstatus.FailedStatus)
}

// Problems returns the problems at a time: failed ones first, recovered ones last, and the latest first among equals.
// Without Options.FullHistory the time must be the current time. Finding causes takes time, so only the first maxCauses
// problems get one. o configures the comparison and the masks.
func (i *Inventory) Problems(now time.Time, maxCauses int, o change.Options) []Problem {
	i.mu.Lock()
	p, last := &i.problems, lastState((*Entry).state)
	if i.options.FullHistory {
		var then problemTracker
		then, last = i.problemsAtLocked(now)
		p = &then
	}
	p.advance(now)
	forget := p.explain(now, warningLookup(i, last))
	all := p.unhealthy.problems(now, i.chainFrom(last, i.options.LookupOwners), last)
	forget()
	for n := range all {
		all[n].Resource = i.resourceOf(&all[n])
		all[n].findCulprit(i)
	}
	i.mu.Unlock()
	states := i.statesOf
	if i.options.WithoutContent {
		states = func(*Entry) []*State { return nil } // Deliver recorded the intentional changes
	}
	i.causes.find(all[:min(len(all), maxCauses)], states, o)
	return all
}

// ProblemsRevision returns a number that changes whenever an event changes which objects are unhealthy, or their reasons.
// Time, Warnings and the recovery of an owner can change the problems without changing the number.
func (i *Inventory) ProblemsRevision() uint64 {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.problems.revision
}

// resourceOf returns the resource of a problem's root. It is empty if no object of its kind was observed.
func (i *Inventory) resourceOf(p *Problem) schema.GroupResource {
	if cause := i.unwatchedCauses.get(p.State.Entry.Cluster, p.Root); cause != nil {
		return cause.Entry.Resource
	}
	return i.kinds[p.Root.GroupKind()]
}

// problemsAtLocked returns the problems at a time and the states of objects at that time. It requires i.mu to be held.
func (i *Inventory) problemsAtLocked(t time.Time) (problemTracker, lastState) {
	p := newProblemTracker()
	last, err := i.lastAt(t)
	if err != nil {
		return p, last
	}
	for _, o := range i.byID {
		if last(o) == nil {
			continue
		}
		for _, s := range o.states[:o.until(t)] {
			p.update(o, s)
		}
	}
	return p, last
}

func (i *Inventory) statesOf(o *Entry) []*State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return slices.Clone(o.states)
}

// ListDeleted returns the last states of the retained deleted objects in order of deletion.
func (i *Inventory) ListDeleted() []*State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	all := make([]*State, len(i.deleted))
	for n, o := range i.deleted {
		all[n] = o.state()
	}
	return all
}

// OwnedBy returns the existing objects of a cluster with an owner reference to a UID, in the order of CompareStates.
func (i *Inventory) OwnedBy(cluster string, uid types.UID) []*State {
	if uid == "" {
		return nil
	}
	owned, _ := i.ListAt(Now, func(s *State) bool { // never fails for Now
		return s.Entry.Cluster == cluster && slices.ContainsFunc(s.Owners, func(o owner.Owner) bool { return o.UID == uid })
	})
	return owned
}

// Has reports whether the inventory retains an object of a cluster with a UID.
func (i *Inventory) Has(cluster string, uid types.UID) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, resource := range i.kinds {
		if i.byID[idOf(name{cluster: cluster, resource: resource}, uid)] != nil {
			return true
		}
	}
	return false
}

// ExistingByID returns the states of the existing objects with the given IDs.
func (i *Inventory) ExistingByID(ids []string) (all []*State) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, id := range ids {
		if o := i.byID[id]; o != nil && o.existing() != nil {
			all = append(all, o.state())
		}
	}
	return all
}

// ReplayWindow returns the states that all objects had at the start of the window, which begins the duration before t and
// ends at t, followed by the transitions in the window in order.
func (i *Inventory) ReplayWindow(t time.Time, before time.Duration) (all []Transition) {
	i.mu.RLock()
	from := t.Add(-before)
	for _, o := range i.byID {
		if n := o.until(from); n > 0 && o.states[n-1].Type != event.Deleted && !o.hasLeft(o.states[n-1], from) {
			all = append(all, Transition{State: o.states[n-1]})
		}
	}
	i.mu.RUnlock()
	slices.SortFunc(all, func(a, b Transition) int { return CompareStates(a.State, b.State) })
	return append(all, i.transitions(from, t, true)...)
}

// ErrEventsNotSelected means that the query of a recording does not include Events.
var ErrEventsNotSelected = errors.New("the selection does not include Events of the recording: name events too (only recorded Events can be shown)")

// EventsFor returns the retained Events about some objects of a cluster at a time, the latest first. It returns
// ErrEventsNotSelected if targets does not include Events.
func (i *Inventory) EventsFor(t time.Time, targets []event.Target, cluster string, objects ...event.Object) (all []kubeevent.Event, err error) {
	isNamed := func(t event.Target) bool { return t.Resource().Resource == "events" }
	if !slices.ContainsFunc(targets, isNamed) {
		return nil, ErrEventsNotSelected
	}
	var about []owner.Ref
	for _, o := range objects {
		about = append(about, owner.Ref{GroupVersionKind: o.GroupVersionKind(), Namespace: o.Namespace, Name: o.Name, UID: o.UID})
	}
	found, err := i.ListAt(t, func(one *State) bool { return one.Object.IsEvent() && one.Entry.Cluster == cluster })
	for _, one := range found {
		e := kubeevent.Parse(one.Object.Raw())
		if slices.ContainsFunc(about, e.InvolvedObject.RefersTo) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b kubeevent.Event) int { return b.LastSeen.Compare(a.LastSeen) })
	return all, err
}

// maxTreeSize bounds the number of objects in an ownership tree.
const maxTreeSize = 500

// OwnershipTree returns an existing object followed by all objects below it. It returns nil if the object does not exist,
// and stops after maxTreeSize objects.
func (i *Inventory) OwnershipTree(id string) (all []*State) {
	all = i.ExistingByID([]string{id})
	if len(all) == 0 {
		return nil
	}
	owned := map[types.UID][]*State{}
	there, _ := i.ListAt(Now, func(s *State) bool { return s.Entry.Cluster == all[0].Entry.Cluster && len(s.Owners) > 0 }) // never fails for Now
	for _, s := range there {
		for _, o := range s.Owners {
			owned[o.UID] = append(owned[o.UID], s)
		}
	}
	delete(owned, "") // a reference without a UID names no object
	has := map[string]bool{id: true}
	for n := 0; n < len(all) && len(all) < maxTreeSize; n++ {
		for _, s := range owned[all[n].Entry.UID] {
			if !has[s.Entry.ID] {
				has[s.Entry.ID] = true
				all = append(all, s)
			}
		}
	}
	return all
}
