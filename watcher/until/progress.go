package until

import (
	"slices"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// progress is how far a target is.
type progress struct {
	event.Target
	// synced: what existed has been reported. settled: what is known of its objects is of
	// one time. It is not while a sync goes on, or the connection is lost.
	synced, settled bool
	// lost is why there is no connection; nil if there is one.
	lost error
	// absent: nothing exists, and that is enough.
	absent bool
}

// single reports whether the target is one object: a name in all namespaces may be that
// of several.
func (p *progress) single() bool {
	return p.Name != "" && (p.Namespace != "" || !p.Namespaced())
}

// object is the key of the only object of a single target.
func (p *progress) object() objectKey {
	return objectKey{p.Resource().GroupResource(), p.Namespace, p.Name}
}

// has reports whether an object is one of the target's.
func (p *progress) has(key objectKey) bool {
	return key.GroupResource == p.Resource().GroupResource() &&
		(p.Namespace == "" || p.Namespace == key.namespace) && (p.Name == "" || p.Name == key.name)
}

// mark follows the targets.
func (j *Judge) mark(e *event.Event) {
	switch e.Type {
	case event.Arrived:
		j.settle(j.target(e.Target), false)
		j.Awaited = slices.DeleteFunc(j.Awaited, func(a Awaited) bool { return a.Is(e.Target) })
	case event.Gone:
		t := j.target(e.Target)
		j.settle(t, true)
		t.absent = !j.knows(t) && j.HoldsOfNothing(e)
	case event.Synced:
		t := j.target(e.Target)
		t.synced = true
		j.settle(t, true)
		t.absent = e.Count == 0 && !j.knows(t) && j.HoldsOfNothing(e)
	case event.Gap, event.Reconnected:
		t := j.target(e.Target)
		j.settle(t, t.synced)
	case event.Disconnected, event.Denied:
		t := j.target(e.Target)
		j.settle(t, false)
		t.lost = e.Err
	}
}

// settle notes that what is known of a target's objects is of one time, or no longer. A
// connection there is then.
func (j *Judge) settle(t *progress, settled bool) {
	switch {
	case settled && !t.settled:
		j.unsettled--
	case !settled && t.settled:
		j.unsettled++
	}
	t.settled, t.lost = settled, nil
}

// knows reports whether anything is known of objects of a target, be it that they were
// deleted.
func (j *Judge) knows(t *progress) bool {
	if t.single() {
		return j.objects[t.object()] != nil
	}
	for key := range j.objects {
		if t.has(key) {
			return true
		}
	}
	return false
}

// HoldsOfNothing reports whether Until holds where nothing exists, as a mark says. To an
// expression that is a deletion, of which no object is known; and it has to hold because
// of that: what holds of anything at all waits for something.
func (j *Judge) HoldsOfNothing(e *event.Event) bool {
	holds := func(t event.Type) bool {
		in := expression.NewInput(event.Event{Type: t, Target: e.Target, Time: e.Time, Initial: true}, j.Input)
		yes, err := j.Until.Holds(in)
		return yes && err == nil
	}
	return j.Until != nil && holds(event.Deleted) && !holds(event.Added)
}

// target returns the progress of a target, which takes the place of those that it
// covers.
func (j *Judge) target(t event.Target) *progress {
	key := t.Key()
	for other := range j.targets {
		if key.Covers(other) {
			j.settle(j.targets[other], true)
			delete(j.targets, other)
		}
	}
	if j.targets[key] == nil {
		j.targets[key] = &progress{Target: t}
		j.unsettled++
	}
	return j.targets[key]
}
