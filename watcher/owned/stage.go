// Package owned leaves out of a stream the Events of Kubernetes that are about something else than
// one object and what belongs to it.
package owned

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// Stage lets pass the Events that are about an object, the root, or what belongs to it, and all
// marks. The count of a Synced is of those that pass. It is used from one goroutine.
type Stage struct {
	next   event.Sink
	root   owner.Ref
	owners owner.Lookup
	// reported are the Events that have passed and are there, with their targets: what comes of
	// them later passes, too, even if nothing but their identity is known then.
	reported map[types.UID]event.Key
	passing  []event.Event // of the present batch; the memory is used again
}

var _ event.Sink = (*Stage)(nil)

// New returns a Stage before next. The root is known by its kind and name, in any namespace.
func New(next event.Sink, root owner.Ref, owners owner.Lookup) *Stage {
	return &Stage{next: next, root: root, owners: owners, reported: map[types.UID]event.Key{}}
}

// Deliver implements event.Sink. It waits for the owners of what it has not met before.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	defer func() { clear(s.passing) }() // so that the objects do not stay in memory
	s.passing = s.passing[:0]
	for i := range batch {
		e := batch[i]
		if e.Type == event.Synced {
			e.Count = s.count(e.Target.Key())
		}
		passes, err := s.passes(ctx, &e)
		if err != nil {
			return err
		}
		if passes {
			s.passing = append(s.passing, e)
		}
	}
	if len(s.passing) == 0 {
		return nil
	}
	return s.next.Deliver(ctx, s.passing)
}

func (s *Stage) passes(ctx context.Context, e *event.Event) (bool, error) {
	if e.Type.IsMark() {
		return true, nil
	}
	_, known := s.reported[e.Object.UID]
	switch {
	case e.Type == event.Deleted:
		delete(s.reported, e.Object.UID)
		return known, nil
	case known:
		return true, nil
	}
	has, err := s.Has(ctx, e.Object)
	if has {
		s.reported[e.Object.UID] = e.Target.Key()
	}
	return has, err
}

// Has reports whether an Event is about the root, or what belongs to it.
func (s *Stage) Has(ctx context.Context, o event.Object) (bool, error) {
	has, err := owner.Belongs(ctx, kubeevent.Parse(o.Raw()).About, s.isRoot, s.owners)
	if err != nil {
		return false, fmt.Errorf("find out what owns the object of event/%s: %w", o.Name, err)
	}
	return has, nil
}

func (s *Stage) isRoot(o owner.Ref) bool {
	return o.GroupKind() == s.root.GroupKind() && o.Name == s.root.Name
}

func (s *Stage) count(of event.Key) (n int) {
	for _, key := range s.reported {
		if key == of {
			n++
		}
	}
	return n
}
