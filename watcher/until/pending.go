package until

import (
	"slices"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// mark follows the targets.
func (s *Stage) mark(e *event.Event) {
	switch e.Type {
	case event.Left:
		s.forget(e.Target)
	case event.Arrived, event.Joined:
		s.Awaited = slices.DeleteFunc(s.Awaited, func(a AwaitedTarget) bool { return a.Matches(e.Target) })
	case event.Gone, event.Synced:
		s.absent[e.Target.Key()] = e.Count == 0 && !s.knows(e.Target) && s.HoldsWithoutObjects(e)
	}
}

// forget lets go of what is known of the objects of a target, which are not asked for any more.
func (s *Stage) forget(t event.Target) {
	delete(s.absent, t.Key())
	for key, held := range s.objects {
		if !isOf(t, key) {
			continue
		}
		if !held {
			s.unmet--
		}
		delete(s.objects, key)
		delete(s.pending, key)
		delete(s.timed, key)
	}
}

// isOf reports whether an object is one of a target.
func isOf(t event.Target, key objectKey) bool {
	return key.cluster == t.Cluster && key.GroupResource == t.Resource().GroupResource() &&
		(t.Namespace == "" || t.Namespace == key.namespace) && (t.Name == "" || t.Name == key.name)
}

// isSettled reports whether what is known of a target's objects is of one time. It is not while a
// sync goes on, or the connection is lost. Of one object what is listed is all there is to know.
func isSettled(l *event.WatchState) bool {
	switch {
	case l.Phase() == event.PhaseGone:
		return true
	case l.Relisting:
		return l.Synced && isSingle(l.Target)
	default:
		return l.Synced && l.Phase() == event.PhaseLive
	}
}

// lossOf returns why there is no connection for a target; nil if there is one.
func lossOf(l *event.WatchState) error {
	if phase := l.Phase(); l.Relisting || phase != event.PhaseLost && phase != event.PhaseDenied {
		return nil
	}
	return l.Err
}

// isSingle reports whether a target is one object: a name in all namespaces may be that of several.
func isSingle(t event.Target) bool {
	return t.Name != "" && (t.Namespace != "" || !t.Namespaced())
}

// knows reports whether anything is known of objects of a target, be it that they were deleted.
func (s *Stage) knows(t event.Target) bool {
	if isSingle(t) {
		_, known := s.objects[objectKey{t.Cluster, t.Resource().GroupResource(), t.Namespace, t.Name}]
		return known
	}
	for key := range s.objects {
		if isOf(t, key) {
			return true
		}
	}
	return false
}

// HoldsOfNothing reports whether Until holds where nothing exists, as a mark says. To an expression
// that is a deletion, of which no object is known; and it has to hold because of that: what holds
// of anything at all waits for something.
func (s *Stage) HoldsWithoutObjects(e *event.Event) bool {
	holds := func(t event.Type) bool {
		in := expression.NewInput(event.Event{Type: t, Target: e.Target, Time: e.Time, Initial: true}, s.Input)
		yes, err := s.Until.Matches(in)
		return yes && err == nil
	}
	return s.Until != nil && holds(event.Deleted) && !holds(event.Added)
}

// maxPending is of how many objects that do not hold the last event is kept.
const maxPending = 10

// Pending is what Until waits for.
type PendingItem struct {
	Target event.Target
	// Object is the last state of an object that does not hold; zero if what is missing is an
	// object.
	Object   event.Object
	Unsynced bool // what exists is not known yet
	// Lost is why there is no connection, and Object only what was known last; nil: there is one.
	ConnectionError error
	// Awaited is a resource that the server does not have, or a cluster, and Why says more; Target is
	// zero then.
	AwaitedName, Reason string
}

// Pending returns some of what Until waits for, in the order of names, and how much there is
// besides. It may be called when no Deliver is under way.
func (s *Stage) Pending() (some []PendingItem, more int) {
	for _, a := range s.Awaited {
		some = append(some, PendingItem{AwaitedName: a.Name, Reason: a.Reason})
	}
	for _, l := range s.links.All() {
		t := l.Target
		switch lost := lossOf(l); {
		case lost != nil, !l.Synced:
			some = append(some, PendingItem{Target: t, Unsynced: !l.Synced, ConnectionError: lost})
		case s.absent[t.Key()]: // and that is well
		case t.Name != "" && !s.knows(t), t.Name == "" && len(s.objects) == 0:
			some = append(some, PendingItem{Target: t})
		}
	}
	for _, e := range s.pending {
		l := s.links.Get(e.Target)
		if l.Target.Name == "" || lossOf(&l) == nil { // or it is named already
			some = append(some, PendingItem{Target: e.Target, Object: e.Object})
		}
	}
	slices.SortFunc(some, func(p, q PendingItem) int { return strings.Compare(p.order(), q.order()) })
	return some, s.unmet - len(s.pending)
}

// order is what Pending is sorted by.
func (p PendingItem) order() string {
	if p.AwaitedName != "" {
		return p.AwaitedName
	}
	namespace, name := p.Target.Namespace, p.Target.Name
	if !p.Object.IsZero() {
		namespace, name = p.Object.Namespace, p.Object.Name
	}
	return p.Target.Cluster + "\x00" + p.Target.Resource().Resource + "\x00" + namespace + "/" + name
}
