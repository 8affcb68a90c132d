// Package subject drops what does not belong to one object from a stream: Kubernetes Events that
// are not about it or objects that belong to it and, with a Subject, also other objects.
package subject

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// Stage passes on all status events, and the Events about an object, the root, and its descendants.
// With a Subject, it also passes on the root, the objects that belong to it, and the Events about
// these. The first event of an object that it passes on is Added unless it is reconstructed, because
// an object may come to belong to the root by a change, and a Service may precede its Deployment.
// The Count of a Synced event is the number of existing objects of the target that passed. Stage
// must be used from one goroutine.
type Stage struct {
	next   event.Sink
	root   owner.Ref
	owners owner.LookupFunc
	// Subject is nil if only Events should pass. Their involved object is then the root or a
	// descendant.
	Subject *Subject
	// reported contains the existing objects that have passed, with their targets. Their later
	// events also pass, even if an event has only the identity.
	reported   map[identity]event.Key
	candidates candidates
	passing    []event.Event // of the current batch; the memory is reused
}

var _ event.Sink = (*Stage)(nil)

// identity identifies an object. Objects of some API server extensions have no UID and are
// identified by name.
type identity struct {
	uid             types.UID
	resource        event.Key
	namespace, name string
}

func identityOf(e *event.Event) identity {
	if e.Object.UID != "" {
		return identity{uid: e.Object.UID}
	}
	resource := e.Target.Key()
	resource.Namespace, resource.Name = "", ""
	return identity{resource: resource, namespace: e.Object.Namespace, name: e.Object.Name}
}

// New returns a Stage that wraps next. The root is identified by kind and name, in any namespace.
func New(next event.Sink, root owner.Ref, owners owner.LookupFunc) *Stage {
	return &Stage{next: next, root: root, owners: owners, reported: map[identity]event.Key{}}
}

// Deliver implements event.Sink. It waits for owners that have to be looked up.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	defer func() { clear(s.passing) }() // so that the objects can be freed
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
			s.passCandidates()
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
			s.candidates.removeTarget(e.Target)
		}
		return true, nil
	}
	id := identityOf(e)
	_, known := s.reported[id]
	switch {
	case e.Type == event.Deleted:
		delete(s.reported, id)
		delete(s.candidates.events, id)
		return known, nil
	case known:
		s.learn(e.Object)
		return true, nil
	}
	included, err := s.Includes(ctx, e.Object)
	if !included {
		s.candidates.add(*e, s.Subject)
		return false, err
	}
	delete(s.candidates.events, id)
	s.markFirst(e)
	return true, err
}

// markFirst records that an object passes, and turns its first event into Added unless it is
// reconstructed.
func (s *Stage) markFirst(e *event.Event) {
	s.reported[identityOf(e)] = e.Target.Key()
	if e.Type == event.Modified && e.Reconstructed == nil {
		e.Type, e.Old = event.Added, event.Object{}
	}
}

// passCandidates passes on the candidates that belong to the subject since it has learned more.
func (s *Stage) passCandidates() {
	if s.Subject == nil {
		return
	}
	for _, e := range s.candidates.takeMatches(s.Subject) {
		s.markFirst(&e)
		s.passing = append(s.passing, e)
	}
}

// Includes reports whether an Event is about the root or a descendant. With a Subject, it reports
// whether an object belongs to the root, or an Event is about such an object.
func (s *Stage) Includes(ctx context.Context, o event.Object) (bool, error) {
	if s.Subject != nil && !o.IsEvent() {
		return s.includesObject(ctx, o)
	}
	involved := kubeevent.Parse(o.Raw()).InvolvedObject
	if s.Subject != nil && (s.Subject.RefersTo(involved) || !s.Subject.mayBeIn(o.Namespace)) {
		return s.Subject.RefersTo(involved), nil // in other namespaces, only Events about Nodes belong to it
	}
	included, err := owner.SelfOrOwnerMatches(ctx, involved, s.isRoot, s.owners)
	if err != nil {
		return false, fmt.Errorf("find the owner of the object of event/%s: %w", o.Name, err)
	}
	return included, nil
}

func (s *Stage) includesObject(ctx context.Context, o event.Object) (bool, error) {
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
	for _, parent := range owner.FromObject(u) {
		included, err := owner.SelfOrOwnerMatches(ctx, parent.Ref, s.isRoot, s.owners)
		if err != nil {
			return false, fmt.Errorf("find the owner of %s/%s: %w", o.Kind, o.Name, err)
		}
		if included {
			s.learn(o)
			return true, nil
		}
	}
	return false, nil
}

// learn teaches the Subject the references and labels of the root and its pods.
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

func (s *Stage) count(target event.Key) (n int) {
	for _, key := range s.reported {
		if key == target {
			n++
		}
	}
	return n
}
