package inventory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/refer"
)

// LeadUp lists the intentional changes in the time before a problem. None of them need be the reason.
type LeadUp struct {
	// Changes are ordered by Proximity, then the latest first.
	Changes []LeadUpChange
	// IncompleteObjects is the number of objects with evicted states in that time.
	IncompleteObjects int
	// ScannedFrom is the time of the first scanned change if there were too many to scan all. Otherwise it is zero.
	ScannedFrom time.Time
	// ForgottenUntil is the latest time at which an object that the inventory no longer retains existed or was deleted. It
	// is zero if that was before the scanned time.
	ForgottenUntil time.Time
}

// LeadUpChange is an intentional change and its relation to the problem.
type LeadUpChange struct {
	Cause
	Proximity Proximity
}

// Proximity tells how a changed object is related to the object with the problem.
type Proximity int

const (
	// ProximityRelated: the object itself, an object under the same root, or one that the object or its owners refer to.
	ProximityRelated Proximity = iota
	// ProximityNamespace: an object in the same namespace.
	ProximityNamespace
	// ProximityCluster: an object elsewhere in the cluster.
	ProximityCluster
)

// maxTransitions bounds the number of changes that are compared. The latest are used.
const maxTransitions = 10_000

// FindLeadUp returns the retained intentional changes in the cluster of an affected object within the duration before the
// time at, when the object had a problem. o configures the comparison and the masks. FindLeadUp compares many states. It
// returns early with ctx.Err() if ctx is done.
func FindLeadUp(ctx context.Context, i *Inventory, affected *Entry, at time.Time, before time.Duration, o change.Options) (l LeadUp, err error) {
	from, n := at.Add(-before), newProximityFinder(i, affected)
	steps := i.Transitions(from, at.Add(outOfOrder))
	if more := len(steps) - maxTransitions; more > 0 {
		steps = steps[more:]
		l.ScannedFrom = steps[0].State.Time
	}
	for _, step := range steps {
		if ctx.Err() != nil {
			return l, ctx.Err()
		}
		if step.State.Entry.Cluster != affected.Cluster {
			continue
		}
		c, intentional := causeBetween(step.Before, step.State, o)
		if isDeletion := step.State.Type == event.Deleted && len(step.State.Owners) == 0 && step.State.EventType == ""; isDeletion {
			c, intentional = Cause{Entry: step.State.Entry, State: step.State, Summary: "it was deleted"}, true
		}
		if intentional && c.precedes(at) {
			l.Changes = append(l.Changes, LeadUpChange{c, n.proximity(step.State)})
		}
	}
	slices.SortStableFunc(l.Changes, func(a, b LeadUpChange) int {
		return cmp.Or(cmp.Compare(a.Proximity, b.Proximity), b.State.Time.Compare(a.State.Time))
	})
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.archive.forgottenUntil.After(from) {
		l.ForgottenUntil = i.archive.forgottenUntil
	}
	for _, one := range i.byID {
		if one.Cluster == affected.Cluster && one.hasGap(from, at) {
			l.IncompleteObjects++
		}
	}
	return l, nil
}

// hasGap reports whether states between two times were evicted. It requires Inventory.mu to be held.
func (o *Entry) hasGap(from, to time.Time) bool {
	for n := 1; n < len(o.states); n++ {
		if o.states[n].EvictedSince(o.states[n-1]) > 0 && o.states[n].Time.After(from) && !o.states[n-1].Time.After(to) {
			return true
		}
	}
	return false
}

// proximityFinder determines the Proximity of objects to one affected object.
type proximityFinder struct {
	namespace  string
	family     map[types.UID]bool
	referenced map[owner.Ref]bool
}

func newProximityFinder(i *Inventory, affected *Entry) proximityFinder {
	n := proximityFinder{affected.Namespace, map[types.UID]bool{affected.UID: true}, map[owner.Ref]bool{}}
	i.mu.RLock()
	own, top := affected.state(), affected
	above := []*State{own}
	for _, up := range i.chainFrom((*Entry).state, nil)(affected.Cluster, own.Owners) {
		if up != nil {
			top, above = up, append(above, up.state())
		}
	}
	i.mu.RUnlock()
	for _, s := range append(above, i.OwnershipTree(top.ID)...) {
		n.family[s.Entry.UID] = true
	}
	for _, s := range above {
		if u, err := s.Object.Decode(); err == nil {
			for _, ref := range refer.References(u) {
				n.referenced[ref.NameKey()] = true
			}
		}
	}
	return n
}

func (n proximityFinder) proximity(s *State) Proximity {
	this := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Entry.Namespace, Name: s.Entry.Name}
	switch {
	case n.family[s.Entry.UID], n.referenced[this.NameKey()], slices.ContainsFunc(s.Owners, func(o owner.Owner) bool { return n.family[o.UID] }):
		return ProximityRelated
	case n.namespace != "" && s.Entry.Namespace == n.namespace:
		return ProximityNamespace
	}
	return ProximityCluster
}
