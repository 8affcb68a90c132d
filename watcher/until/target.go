package until

import (
	"slices"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// mark follows the targets.
func (s *Stage) mark(e *event.Event) {
	switch e.Type {
	case event.Arrived:
		s.Awaited = slices.DeleteFunc(s.Awaited, func(a Awaited) bool { return a.Is(e.Target) })
	case event.Gone, event.Synced:
		s.absent[e.Target.Key()] = e.Count == 0 && !s.knows(e.Target) && s.HoldsOfNothing(e)
	}
}

// isAbsent reports whether nothing exists of a target, and that is enough.
func (s *Stage) isAbsent(l *event.Link) bool { return s.absent[l.Target.Key()] }

// isSettled reports whether what is known of a target's objects is of one time. It is not
// while a sync goes on, or the connection is lost. Of one object what is listed is all there
// is to know.
func isSettled(l *event.Link) bool {
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
func lossOf(l *event.Link) error {
	if phase := l.Phase(); l.Relisting || phase != event.PhaseLost && phase != event.PhaseDenied {
		return nil
	}
	return l.Err
}

// isSingle reports whether a target is one object: a name in all namespaces may be that of
// several.
func isSingle(t event.Target) bool {
	return t.Name != "" && (t.Namespace != "" || !t.Namespaced())
}

// knows reports whether anything is known of objects of a target, be it that they were
// deleted.
func (s *Stage) knows(t event.Target) bool {
	resource := t.Resource().GroupResource()
	if isSingle(t) {
		_, known := s.objects[objectKey{resource, t.Namespace, t.Name}]
		return known
	}
	for key := range s.objects {
		if key.GroupResource == resource &&
			(t.Namespace == "" || t.Namespace == key.namespace) && (t.Name == "" || t.Name == key.name) {
			return true
		}
	}
	return false
}

// HoldsOfNothing reports whether Until holds where nothing exists, as a mark says. To an
// expression that is a deletion, of which no object is known; and it has to hold because
// of that: what holds of anything at all waits for something.
func (s *Stage) HoldsOfNothing(e *event.Event) bool {
	holds := func(t event.Type) bool {
		in := expression.NewInput(event.Event{Type: t, Target: e.Target, Time: e.Time, Initial: true}, s.Input)
		yes, err := s.Until.Holds(in)
		return yes && err == nil
	}
	return s.Until != nil && holds(event.Deleted) && !holds(event.Added)
}
