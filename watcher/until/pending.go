package until

import (
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// maxPending is of how many objects that do not hold the last event is kept.
const maxPending = 10

// Pending is what Until waits for.
type Pending struct {
	Target event.Target
	// Object is the last state of an object that does not hold; zero if it is not the
	// state of one that is missing, but that the object does not exist.
	Object event.Object
	// Unsynced: what exists is not known yet.
	Unsynced bool
	// Lost is why there is no connection, and Object only what was known last; nil: there
	// is one.
	Lost error
	// Awaited is a resource that the server does not have; Target is zero then.
	Awaited string
}

// Pending returns some of what Until waits for, in the order of names, and how much
// there is besides. It may be called when no Deliver is under way.
func (s *Stage) Pending() (some []Pending, more int) {
	for _, a := range s.Awaited {
		some = append(some, Pending{Awaited: a.Name})
	}
	for _, l := range s.links.All() {
		t := l.Target
		switch lost := lossOf(l); {
		case lost != nil, !l.Synced:
			some = append(some, Pending{Target: t, Unsynced: !l.Synced, Lost: lost})
		case s.isAbsent(l): // and that is well
		case t.Name != "" && !s.knows(t), t.Name == "" && len(s.objects) == 0:
			some = append(some, Pending{Target: t})
		}
	}
	for _, e := range s.pending {
		l := s.links.Of(e.Target)
		if l.Target.Name == "" || lossOf(&l) == nil { // or it is named already
			some = append(some, Pending{Target: e.Target, Object: e.Object})
		}
	}
	slices.SortFunc(some, func(p, q Pending) int { return strings.Compare(p.order(), q.order()) })
	return some, s.unmet - len(s.pending)
}

// order returns what Pending is sorted by: the resource, and then the name.
func (p Pending) order() string {
	if p.Awaited != "" {
		return p.Awaited
	}
	namespace, name := p.Target.Namespace, p.Target.Name
	if !p.Object.IsZero() {
		namespace, name = p.Object.Namespace, p.Object.Name
	}
	return p.Target.Resource().Resource + "\x00" + namespace + "/" + name
}
