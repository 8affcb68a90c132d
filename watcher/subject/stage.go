// Package subject leaves out of a stream what does not belong to one object: the Events of Kubernetes
// that are about something else than it and what it owns, or, of a Subject, also other objects.
package subject

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// Stage lets pass the Events that are about an object, the root, or what belongs to it, and all
// marks; with a Subject also the root, and the objects that belong to it. What passes for the first time is
// Added: a Service may come to belong to it by its last change, or before its Deployment is there, after which
// it passes. The count of a Synced is of those that pass. It is used from one goroutine.
type Stage struct {
	next   event.Sink
	root   owner.Ref
	owners owner.LookupFunc
	// Subject is nil if nothing but Events of what the root owns is to pass.
	Subject *Subject
	// reported are the objects that have passed and are there, with their targets: what comes of
	// them later passes, too, even if nothing but their identity is known then.
	reported map[identity]event.Key
	aside    aside
	passing  []event.Event // of the present batch; the memory is used again
}

var _ event.Sink = (*Stage)(nil)

// identity tells an object from all others. Some that are made by extensions of the server have no UID, and
// are known by their names.
type identity struct {
	uid             types.UID
	resource        event.Key
	namespace, name string
}

func identityOf(e *event.Event) identity {
	if e.Object.UID != "" {
		return identity{uid: e.Object.UID}
	}
	of := e.Target.Key()
	of.Namespace, of.Name = "", ""
	return identity{resource: of, namespace: e.Object.Namespace, name: e.Object.Name}
}

// New returns a Stage before next. The root is known by its kind and name, in any namespace.
func New(next event.Sink, root owner.Ref, owners owner.LookupFunc) *Stage {
	return &Stage{next: next, root: root, owners: owners, reported: map[identity]event.Key{}}
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
			s.passLater()
		}
	}
	if len(s.passing) == 0 {
		return nil
	}
	return s.next.Deliver(ctx, s.passing)
}

func (s *Stage) passes(ctx context.Context, e *event.Event) (bool, error) {
	if e.Type.IsStatus() {
		if e.Type == event.Gone || e.Type == event.Left {
			s.aside.leave(e.Target)
		}
		return true, nil
	}
	id := identityOf(e)
	_, known := s.reported[id]
	switch {
	case e.Type == event.Deleted:
		delete(s.reported, id)
		delete(s.aside.events, id)
		return known, nil
	case known:
		s.learn(e.Object)
		return true, nil
	}
	has, err := s.Includes(ctx, e.Object)
	if !has {
		s.aside.keep(*e, s.Subject)
		return false, err
	}
	delete(s.aside.events, id)
	s.isFirst(e)
	return true, err
}

// isFirst makes an event the first of what passes of its object.
func (s *Stage) isFirst(e *event.Event) {
	s.reported[identityOf(e)] = e.Target.Key()
	if e.Type == event.Modified && e.Reconstructed == nil {
		e.Type, e.Old = event.Added, event.Object{}
	}
}

// passLater lets pass what did not before, since more is known now of the subject.
func (s *Stage) passLater() {
	if s.Subject == nil {
		return
	}
	for _, e := range s.aside.found(s.Subject) {
		s.isFirst(&e)
		s.passing = append(s.passing, e)
	}
}

// Has reports whether an Event is about the root, or what belongs to it, or an object belongs to it.
func (s *Stage) Includes(ctx context.Context, o event.Object) (bool, error) {
	if s.Subject != nil && !o.IsEvent() {
		return s.hasObject(ctx, o)
	}
	about := kubeevent.Parse(o.Raw()).InvolvedObject
	if s.Subject != nil && (s.Subject.RefersTo(about) || !s.Subject.isIn(o.Namespace)) {
		return s.Subject.RefersTo(about), nil // elsewhere there is nothing of it but Events about Nodes
	}
	has, err := owner.SelfOrOwnerMatches(ctx, about, s.isRoot, s.owners)
	if err != nil {
		return false, fmt.Errorf("find out what owns the object of event/%s: %w", o.Name, err)
	}
	return has, nil
}

func (s *Stage) hasObject(ctx context.Context, o event.Object) (bool, error) {
	this := owner.Ref{GroupVersionKind: o.GroupVersionKind(), Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	if s.isRoot(this) || s.Subject.RefersTo(this) {
		s.learn(o)
		return true, nil
	}
	u, err := o.Decode()
	if err != nil {
		return false, nil
	}
	if s.Subject.IsTargetOf(u) {
		return true, nil
	}
	for _, above := range owner.FromObject(u) {
		has, err := owner.SelfOrOwnerMatches(ctx, above.Ref, s.isRoot, s.owners)
		if err != nil {
			return false, fmt.Errorf("find out what owns %s/%s: %w", o.Kind, o.Name, err)
		}
		if has {
			s.learn(o)
			return true, nil
		}
	}
	return false, nil
}

// learn takes in what the root and its pods refer to.
func (s *Stage) learn(o event.Object) {
	isPod := o.Kind == "Pod" && o.APIVersion == "v1"
	if s.Subject == nil || !isPod && !s.isRoot(owner.Ref{GroupVersionKind: o.GroupVersionKind(), Name: o.Name}) {
		return
	}
	if u, err := o.Decode(); err == nil {
		s.Subject.Learn(u)
	}
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
