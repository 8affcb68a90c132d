package until

import (
	"cmp"
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
}

// Pending returns some of what Until waits for, in the order of names, and how much
// there is besides. It may be called when no Deliver is under way.
func (j *Judge) Pending() (some []Pending, more int) {
	for _, t := range j.targets {
		switch {
		case !t.synced:
			some = append(some, Pending{Target: t.Target, Unsynced: true})
		case t.Name != "" && j.objects[t.object()] == nil, t.Name == "" && len(j.objects) == 0:
			some = append(some, Pending{Target: t.Target})
		}
	}
	known := 0
	for _, o := range j.objects {
		if !o.holds && !o.last.Object.IsZero() {
			some, known = append(some, Pending{Target: o.last.Target, Object: o.last.Object}), known+1
		}
	}
	slices.SortFunc(some, Pending.compare)
	return some, j.unmet - known
}

func (p Pending) compare(q Pending) int {
	return cmp.Or(
		strings.Compare(p.Target.Resource().Resource, q.Target.Resource().Resource),
		strings.Compare(p.name(), q.name()),
	)
}

func (p Pending) name() string {
	if p.Object.IsZero() {
		return p.Target.Namespace + "/" + p.Target.Name
	}
	return p.Object.Namespace + "/" + p.Object.Name
}
