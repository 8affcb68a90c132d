package recording

import (
	"context"
	"time"

	"dwatch/watcher/event"
)

// Comparison is what is different between two times, whatever happened between them.
type Comparison struct {
	// Events say by target, namespace and name what became of each object that is not the same: of a
	// Modified with the state before. What took the place of another of its name is deleted, and
	// added. None where one of the times is not known.
	Events []event.Event
	// Before and After are what is known of the two times.
	BeforeProof, AfterProof *Proof
}

// Compare compares what was there at a time with what was there at another one; zero: at the last of
// which all is known.
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

// different merges what was there before and after, which are in the same order.
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
		case old.ResourceVersion != o.ResourceVersion && old.APIVersion == o.APIVersion:
			add(event.Modified, o, old.Object)
		}
	}
	return events
}
