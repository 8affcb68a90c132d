package recording

import (
	"context"
	"time"

	"dwatch/watcher/event"
)

// Comparison is the difference between the objects that existed at two times.
type Comparison struct {
	// Events has the differences: first the deletions of objects that have no replacement, then all other events. Both parts
	// are sorted by target, namespace and name. A Modified event has the earlier state as Old. An object that was replaced by
	// one of the same name has a Deleted and an Added event. Events is empty unless both proofs are complete.
	Events []event.Event
	// BeforeProof and AfterProof state whether the objects at each time are completely known.
	BeforeProof, AfterProof *Proof
}

// Compare compares the objects at two times. If to is zero, it stands for the last time at which all targets of the query
// are covered.
func (r *Recording) Compare(ctx context.Context, q Query, from, to time.Time) (c Comparison, err error) {
	var before, after []storedObject
	if after, c.AfterProof, err = r.objectsAt(ctx, q, to); err != nil {
		return c, err
	}
	if before, c.BeforeProof, err = r.objectsAt(ctx, q, from); err != nil || !c.BeforeProof.IsComplete() || !c.AfterProof.IsComplete() {
		return c, err
	}
	c.Events = diffObjects(before, after, c.AfterProof.To)
	return c, nil
}

// diffObjects returns the events that turn before into after.
func diffObjects(before, after []storedObject, at time.Time) (events []event.Event) {
	was := make(map[objectKey]storedObject, len(before))
	for _, o := range before {
		was[keyOf(o.target, o.Object)] = o
	}
	is := make(map[objectKey]bool, len(after))
	for _, o := range after {
		is[keyOf(o.target, o.Object)] = true
	}
	add := func(kind event.Type, o storedObject, old event.Object) {
		events = append(events, event.Event{Type: kind, Target: o.target, Object: o.Object, Old: old, Time: at})
	}
	for _, o := range before {
		if !is[keyOf(o.target, o.Object)] {
			add(event.Deleted, o, event.Object{})
		}
	}
	for _, o := range after {
		switch old, there := was[keyOf(o.target, o.Object)]; {
		case there && old.UID != o.UID:
			add(event.Deleted, old, event.Object{})
			add(event.Added, o, event.Object{})
		case !there:
			add(event.Added, o, event.Object{})
		case old.ResourceVersion != o.ResourceVersion:
			add(event.Modified, o, old.Object)
		}
	}
	return events
}
