package until

import (
	"slices"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// observeStatus updates the targets after a status event.
func (s *Stage) observeStatus(e *event.Event) {
	switch e.Type {
	case event.Left:
		s.forget(e.Target)
	case event.Arrived, event.Joined:
		s.Awaited = slices.DeleteFunc(s.Awaited, func(a AwaitedTarget) bool { return a.Matches(e.Target) })
	case event.Gone, event.Synced:
		s.absent[e.Target.Key()] = e.Count == 0 && !s.results.hasObjects(e.Target) && s.HoldsWithoutObjects(e)
	}
}

// forget discards the objects of a target that is no longer watched.
func (s *Stage) forget(t event.Target) {
	delete(s.absent, t.Key())
	for key := range s.results.holds {
		if belongsTo(t, key) {
			s.results.remove(key)
			delete(s.timed, key)
		}
	}
}

// belongsTo reports whether an object belongs to a target.
func belongsTo(t event.Target, key objectKey) bool {
	return key.cluster == t.Cluster && key.GroupResource == t.Resource().GroupResource() &&
		(t.Namespace == "" || t.Namespace == key.namespace) && (t.Name == "" || t.Name == key.name)
}

// isCurrent reports whether the recorded states of a target's objects existed at the same moment.
// During a list or an outage they may not. If the target is a single object, its state is current
// as soon as it was listed.
func isCurrent(l *event.WatchState) bool {
	switch {
	case l.Phase() == event.PhaseGone:
		return true
	case l.Relisting:
		return l.Synced && l.Target.IsOneObject()
	default:
		return l.Synced && l.Phase() == event.PhaseLive
	}
}

// connectionError returns why a target has no connection, or nil if it has one.
func connectionError(l *event.WatchState) error {
	if phase := l.Phase(); l.Relisting || phase != event.PhaseLost && phase != event.PhaseDenied {
		return nil
	}
	return l.Err
}

// HoldsWithoutObjects reports whether Until holds because no object exists, as the status event e
// says. It evaluates the expression for the deletion of an unknown object. An expression that also
// holds for the creation of an unknown object does not count, because it waits for an object.
func (s *Stage) HoldsWithoutObjects(e *event.Event) bool {
	holds := func(t event.Type) bool {
		in := expression.NewInput(event.Event{Type: t, Target: e.Target, Time: e.Time, Initial: true}, s.Input)
		yes, err := s.Until.Matches(in)
		return yes && err == nil
	}
	return s.Until != nil && holds(event.Deleted) && !holds(event.Added)
}

// PendingItem is one object, target or resource that Until waits for.
type PendingItem struct {
	Target event.Target
	// Object is the last state of an object for which Until does not hold. It is zero if the object
	// does not exist.
	Object   event.Object
	Unsynced bool // the initial list is not complete
	// ConnectionError is why the target has no connection, so that Object may be outdated. nil
	// means that it is connected.
	ConnectionError error
	// AwaitedName is the name of a resource that the server does not serve, or of a cluster, and
	// Reason says why it is missing. Target is then zero.
	AwaitedName, Reason string
}

// Pending returns items that Until waits for, sorted by name, and the number of further objects. It
// must not be called during Deliver.
func (s *Stage) Pending() (some []PendingItem, more int) {
	for _, a := range s.Awaited {
		some = append(some, PendingItem{AwaitedName: a.Name, Reason: a.Reason})
	}
	for _, l := range s.states.All() {
		t := l.Target
		switch lost := connectionError(l); {
		case lost != nil, !l.Synced:
			some = append(some, PendingItem{Target: t, Unsynced: !l.Synced, ConnectionError: lost})
		case s.absent[t.Key()]: // the condition holds without objects
		case t.Name != "" && !s.results.hasObjects(t), t.Name == "" && len(s.results.holds) == 0:
			some = append(some, PendingItem{Target: t})
		}
	}
	for _, e := range s.results.pending {
		l := s.states.Get(e.Target)
		if l.Target.Name == "" || connectionError(&l) == nil { // otherwise, the target has an item
			some = append(some, PendingItem{Target: e.Target, Object: e.Object})
		}
	}
	slices.SortFunc(some, func(p, q PendingItem) int { return strings.Compare(p.order(), q.order()) })
	return some, s.results.unmet - len(s.results.pending)
}

// order is the sort key of p.
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
