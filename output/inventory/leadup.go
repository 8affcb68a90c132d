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

// LeadUp is what somebody meant in the time before something went wrong: none of it need be why.
type LeadUp struct {
	// Changes are in the order of Near, of the same the latest first.
	Changes []LeadUpChange
	// Missing is of how many objects it is not held what all they changed in that time.
	IncompleteObjects int
	// Since is when the first of the changes was that were looked at, if there were too many; else zero.
	ScannedFrom time.Time
	// Forgotten is until when objects that are no longer held were there or deleted, if that is within the time.
	ForgottenUntil time.Time
}

// LedUp is one of these changes.
type LeadUpChange struct {
	Cause
	Proximity Proximity
}

// Near is how much a change has to do with what went wrong.
type Proximity int

const (
	// Belonging: of the object, of what it belongs to or what belongs to that, or of what one of these names.
	ProximityRelated Proximity = iota
	// Neighbouring: in the same namespace.
	ProximityNamespace
	// Elsewhere in the cluster.
	ProximityCluster
)

// maxSteps is how many changes are looked at, the last: to compare them takes time.
const maxSteps = 10_000

// NewLeadUp returns what is held of what somebody meant in a cluster in the time before something went wrong with one
// of its objects, at some time. What o masks is masked. It compares many objects, and ends with ctx.
func FindLeadUp(ctx context.Context, i *Inventory, with *Entry, at time.Time, before time.Duration, o change.Options) (l LeadUp, err error) {
	from, n := at.Add(-before), nearnessOf(i, with)
	steps := i.Transitions(from, at.Add(outOfOrder))
	if more := len(steps) - maxSteps; more > 0 {
		steps = steps[more:]
		l.ScannedFrom = steps[0].State.Time
	}
	for _, step := range steps {
		if ctx.Err() != nil {
			return l, ctx.Err()
		}
		if step.State.Entry.Cluster != with.Cluster {
			continue
		}
		c, meant := causeBetween(step.Before, step.State, o)
		if isDeletion := step.State.Type == event.Deleted && len(step.State.Owners) == 0 && step.State.EventType == ""; isDeletion {
			c, meant = Cause{Entry: step.State.Entry, State: step.State, Summary: "it was deleted"}, true
		}
		if meant && c.isBefore(at) {
			l.Changes = append(l.Changes, LeadUpChange{c, n.near(step.State)})
		}
	}
	slices.SortStableFunc(l.Changes, func(a, b LeadUpChange) int {
		return cmp.Or(cmp.Compare(a.Proximity, b.Proximity), b.State.Time.Compare(a.State.Time))
	})
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.archive.forgotten.After(from) {
		l.ForgottenUntil = i.archive.forgotten
	}
	for _, one := range i.byID {
		if one.Cluster == with.Cluster && one.lacks(from, at) {
			l.IncompleteObjects++
		}
	}
	return l, nil
}

// lacks reports whether states of a time are no longer held. It is called under the lock.
func (o *Entry) lacks(from, to time.Time) bool {
	for n := 1; n < len(o.states); n++ {
		if o.states[n].EvictedSince(o.states[n-1]) > 0 && o.states[n].Time.After(from) && !o.states[n-1].Time.After(to) {
			return true
		}
	}
	return false
}

// nearness says how near objects are to one of them.
type nearness struct {
	namespace string
	family    map[types.UID]bool
	named     map[owner.Ref]bool
}

func nearnessOf(i *Inventory, with *Entry) nearness {
	n := nearness{with.Namespace, map[types.UID]bool{with.UID: true}, map[owner.Ref]bool{}}
	i.mu.RLock()
	own, top := with.state(), with
	above := []*State{own}
	for _, up := range i.upFrom((*Entry).state, nil)(with.Cluster, own.Owners) {
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
				n.named[ref.NameKey()] = true
			}
		}
	}
	return n
}

func (n nearness) near(s *State) Proximity {
	this := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Entry.Namespace, Name: s.Entry.Name}
	switch {
	case n.family[s.Entry.UID], n.named[this.NameKey()], slices.ContainsFunc(s.Owners, func(o owner.Owner) bool { return n.family[o.UID] }):
		return ProximityRelated
	case n.namespace != "" && s.Entry.Namespace == n.namespace:
		return ProximityNamespace
	}
	return ProximityCluster
}
