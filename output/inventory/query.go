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

// Now is the time of the present.
var Now time.Time

// ErrPast means that what was is asked for, and it is not held.
var ErrNotRetained = errors.New("what was there at that time is not known any more")

// lastState is how an object is, or was at some time; nil: it was not there.
type lastState func(*Entry) *State

// lastAt is how objects were at a time. It is called under the lock.
func (i *Inventory) lastAt(t time.Time) (lastState, error) {
	switch {
	case t.Equal(Now):
		return func(o *Entry) *State {
			if !o.ended.IsZero() {
				return nil
			}
			return o.state()
		}, nil
	case !i.options.FullHistory || t.Before(i.archive.held):
		return nil, ErrNotRetained
	}
	return func(o *Entry) *State {
		n := o.until(t)
		if n == 0 || o.states[n-1].Type == event.Deleted {
			return nil
		}
		return o.states[n-1]
	}, nil
}

// until is how many states the object had had at a time.
func (o *Entry) until(t time.Time) int {
	return sort.Search(len(o.states), func(n int) bool { return o.states[n].Time.After(t) })
}

// Held is since when all is held that was; zero: since the start.
func (i *Inventory) RetainedSince() time.Time {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.archive.held
}

// At returns the objects of a time of which keep (nil: always) returns true, in Order. Without
// Options.Past that is Now.
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

// Step is one change of an object. Before is nil of what came, or where it is no longer held.
type Transition struct{ Before, State *State }

// Steps returns what is held of what happened after a time, until another one (zero: to the end), in
// order. What was there at the start did not happen.
func (i *Inventory) Transitions(after, until time.Time) []Transition {
	return i.steps(after, until, false)
}

// steps are Steps, or with initial also what was seen first.
func (i *Inventory) steps(after, until time.Time, initial bool) (all []Transition) {
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

// Counts reports whether the change is one to be told of, as with a Change.
func (s Transition) IsSignificant(o change.Options) bool {
	e := s.State.ToEvent(s.Before)
	c := Change{Event: &e, State: s.State, Before: s.Before}
	if s.Before != nil && e.Type == event.Modified && s.State.EventType == "" {
		c.Diff = new(DiffStates(s.Before, s.State, o))
	}
	return c.IsSignificant()
}

// Fails reports whether the object was not failed before, and is.
func (s Transition) BecameFailed() bool {
	return s.State.Status == kstatus.FailedStatus && s.State.Type != event.Deleted && (s.Before == nil || s.Before.Status != kstatus.FailedStatus)
}

// Problems are what needs a look at a time, which without Options.Past is the present: what has failed
// first, of those the newest first. Of so many of them the causes are looked for, which takes time; o
// says how they are compared and masked.
func (i *Inventory) Problems(now time.Time, causes int, o change.Options) []Problem {
	i.mu.Lock()
	p, last := i.present, lastState((*Entry).state)
	if i.options.FullHistory {
		p, last = i.wrongAt(now)
	}
	forget := p.explain(now, warningsOf(i, last))
	all := p.wrong.problems(now, i.upFrom(last, i.options.LookupOwners), last)
	forget()
	for n := range all {
		all[n].Resource = i.resourceOf(&all[n])
		all[n].find(i)
	}
	i.mu.Unlock()
	states := i.statesOf
	if i.options.WithoutContent {
		states = func(*Entry) []*State { return nil } // its changes were noted as they came
	}
	i.causes.find(all[:min(len(all), causes)], states, o)
	return all
}

// ProblemsRevision is another number once what is wrong may have become another, but for what time alone makes of it.
func (i *Inventory) ProblemsRevision() uint64 {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.present.revision
}

// resourceOf is that of the root of a problem, as far as objects of it were seen, or it is known what followed there.
func (i *Inventory) resourceOf(p *Problem) schema.GroupResource {
	if lead := i.unseen.lead(p.State.Entry.Cluster, p.Root); lead != nil {
		return lead.Entry.Resource
	}
	return i.kinds[p.Root.GroupKind()]
}

// wrongAt returns what was wrong at a time, and how objects were. It is called under the lock.
func (i *Inventory) wrongAt(t time.Time) (present, lastState) {
	p := newPresent()
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

// Ended returns the last states of the deleted objects that are held, the first deleted first.
func (i *Inventory) ListDeleted() []*State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	all := make([]*State, len(i.ended))
	for n, o := range i.ended {
		all[n] = o.state()
	}
	return all
}

// Owned returns the objects that are there and name the one with a UID as an owner, sorted; of several
// clusters those in this one.
func (i *Inventory) OwnedBy(cluster string, uid types.UID) []*State {
	if uid == "" {
		return nil
	}
	owned, _ := i.ListAt(Now, func(s *State) bool { // of now it is known
		return s.Entry.Cluster == cluster && slices.ContainsFunc(s.Owners, func(o owner.Owner) bool { return o.UID == uid })
	})
	return owned
}

// Has reports whether an object is held, of several clusters in this one.
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

// Present returns the states of those of the objects with these IDs that are there.
func (i *Inventory) ExistingByID(ids []string) (all []*State) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, id := range ids {
		if o := i.byID[id]; o != nil && o.ended.IsZero() {
			all = append(all, o.state())
		}
	}
	return all
}

// Around returns how each object was some time before another time, if it was there, and what happened
// from then until that, in order.
func (i *Inventory) ReplayWindow(t time.Time, before time.Duration) (all []Transition) {
	i.mu.RLock()
	from := t.Add(-before)
	for _, o := range i.byID {
		if n := o.until(from); n > 0 && o.states[n-1].Type != event.Deleted {
			all = append(all, Transition{State: o.states[n-1]})
		}
	}
	i.mu.RUnlock()
	slices.SortFunc(all, func(a, b Transition) int { return CompareStates(a.State, b.State) })
	return append(all, i.steps(from, t, true)...)
}

// ErrNoEvents means that Events of Kubernetes are not among what was asked of a recording.
var ErrEventsNotSelected = errors.New("of a recording, Events are shown that are asked for: name events, too, and they must have been recorded")

// EventsAbout returns the Events of Kubernetes that are held of a time about some objects of a cluster, the newest
// first. Without events among the targets that is ErrNoEvents.
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

// maxFamily bounds how many objects are looked for below one.
const maxFamily = 500

// Family returns an object that is there and what it owns, and what that owns; nil: it is not there.
func (i *Inventory) OwnershipTree(id string) (all []*State) {
	all = i.ExistingByID([]string{id})
	if len(all) == 0 {
		return nil
	}
	owned := map[types.UID][]*State{}
	there, _ := i.ListAt(Now, func(s *State) bool { return s.Entry.Cluster == all[0].Entry.Cluster && len(s.Owners) > 0 }) // of now it is known
	for _, s := range there {
		for _, o := range s.Owners {
			owned[o.UID] = append(owned[o.UID], s)
		}
	}
	delete(owned, "") // an owner that says so is none
	has := map[string]bool{id: true}
	for n := 0; n < len(all) && len(all) < maxFamily; n++ {
		for _, s := range owned[all[n].Entry.UID] {
			if !has[s.Entry.ID] {
				has[s.Entry.ID] = true
				all = append(all, s)
			}
		}
	}
	return all
}
