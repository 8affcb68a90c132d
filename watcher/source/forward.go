package source

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// pass passes one event to the informer, and during a list also to the observer.
func (s *stream) pass(ctx context.Context, e watch.Event) error {
	if e.Type == watch.Error {
		err := apierrors.FromObject(e.Object)
		if !utilnet.IsHTTP2ConnectionLost(err) { // HTTP/2 pings detected a dead connection
			s.session.noteHeard()
		}
		return err
	}
	u, ok := e.Object.(*unstructured.Unstructured)
	if ok && u.GetName() == "" && e.Type != watch.Bookmark && s.isOwnKind(u) && !s.syncing {
		// A change may be missing, which only a new list shows.
		return apierrors.NewResourceExpired("the server sent an event without an object's name")
	}
	if !ok || u.GetName() == "" && e.Type != watch.Bookmark {
		return fmt.Errorf("the server sent a %T instead of an object in a watch", e.Object)
	}
	s.noteEvent()
	switch {
	case u.GetKind() == "Table" && u.GroupVersionKind().Group == metav1.GroupName:
		return nil // the only kind of object that an informer drops
	case e.Type == watch.Bookmark:
		return s.passBookmark(ctx, e, u)
	case !s.session.options.Shard.Has(u.GetUID()):
		if !s.syncing {
			s.advance(u.GetResourceVersion())
		}
		return nil
	case codec.IsUnreadable(u):
		return s.passUnreadable(ctx, e, u)
	case s.syncing:
		if err := s.session.observeListed(u, e.Type); err != nil {
			return err
		}
		return s.send(ctx, e)
	default:
		return s.passLive(ctx, e, u)
	}
}

// isOwnKind reports whether an object has the kind of the target's objects. The server may also have sent something else,
// for example an error page of a proxy.
func (s *stream) isOwnKind(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind() == s.session.target.Mapping.GroupVersionKind
}

func (s *stream) passBookmark(ctx context.Context, e watch.Event, u *unstructured.Unstructured) error {
	last := u.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	if last {
		s.session.endSync(u.GetResourceVersion())
	}
	if err := s.send(ctx, e); err != nil {
		return err
	}
	if s.syncing = s.syncing && !last; !s.syncing {
		s.advance(u.GetResourceVersion())
	}
	return nil
}

// passLive passes an event after the list to the informer, with the observation for the handler
// inside the object.
func (s *stream) passLive(ctx context.Context, e watch.Event, u *unstructured.Unstructured) error {
	o, err := s.session.newObservation(ctx, Changed, u, e.Type)
	if err != nil {
		return err
	}
	u.Object[observationKey] = o
	inFlight := s.session.inFlight
	if err = inFlight.Acquire(ctx, 1); err == nil {
		if err = s.send(ctx, e); err != nil {
			inFlight.Release(1)
		}
	}
	if err != nil {
		s.session.options.Budget.Release(o.ReservedBytes)
		return causeOr(ctx, err)
	}
	s.advance(o.Object.ResourceVersion)
	return nil
}

// passUnreadable observes an object whose content is not valid JSON, after all earlier events. The
// informer does not receive it.
func (s *stream) passUnreadable(ctx context.Context, e watch.Event, u *unstructured.Unstructured) error {
	s.session.drain(ctx)
	identity := codec.IdentityOf(u)
	s.session.observer.Observe(Observation{Kind: Unreadable, Event: event.Event{
		Type: event.Type(e.Type), Object: event.NewObject(identity, ""),
	}})
	if !s.syncing {
		s.advance(identity.ResourceVersion)
	}
	return nil
}

// advance records the resourceVersion that the informer has reached. It ignores an empty one, from
// which the next watch would start at the current state and miss deletions.
func (s *stream) advance(resourceVersion string) {
	if resourceVersion == "" {
		return
	}
	s.resumeFrom = resourceVersion
	s.session.cursor.Store(&resourceVersion)
}

// stored is an object in the informer's store. It retains only the identity of the object.
type stored struct {
	*metav1.ObjectMeta // &empty; implements the methods that client-go does not use
	*event.Identity
	// observation is set for changes after the list, until the handler passes it on.
	observation *Observation
}

var (
	empty metav1.ObjectMeta

	_ metav1.Object = (*stored)(nil)
)

func (s *stored) GetNamespace() string       { return s.Identity.Namespace }
func (s *stored) GetName() string            { return s.Identity.Name }
func (s *stored) GetUID() types.UID          { return s.Identity.UID }
func (s *stored) GetResourceVersion() string { return s.Identity.ResourceVersion }

// observationKey is the key of the observation in a raw object on its way through the informer.
const observationKey = "\x00observation"

// transform is the informer's transform, which returns the object for the store. client-go calls it
// twice for some objects.
func transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	if o, ok := u.Object[observationKey].(*Observation); ok {
		return &stored{&empty, o.Object.Identity, o}, nil
	}
	return &stored{&empty, codec.IdentityOf(u), nil}, nil
}

// handle is the informer's handler. It passes on the observation of a change and removes it.
// Objects of a list have none, because they were observed directly.
func (s *session) handle(obj any) {
	live, ok := obj.(*stored)
	if !ok || live.observation == nil {
		return
	}
	s.observer.Observe(*live.observation)
	live.observation = nil
	s.inFlight.Release(1)
}
