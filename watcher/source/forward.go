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

// pass gives one event to the informer, and in a sync to the observer.
func (s *stream) pass(ctx context.Context, e watch.Event) error {
	if e.Type == watch.Error {
		err := apierrors.FromObject(e.Object)
		if !utilnet.IsHTTP2ConnectionLost(err) { // by which it is noticed that nothing comes
			s.session.hear()
		}
		return err
	}
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok || u.GetName() == "" && e.Type != watch.Bookmark {
		return fmt.Errorf("the server sent something else than an object (%T) in a watch", e.Object)
	}
	s.noteEvent()
	switch {
	case u.GetKind() == "Table" && u.GroupVersionKind().Group == metav1.GroupName:
		return nil // the one kind of object that an informer does not take
	case e.Type == watch.Bookmark:
		return s.passBookmark(ctx, e, u)
	case !s.session.options.Shard.Has(u.GetUID()):
		if !s.syncing {
			s.advance(u.GetResourceVersion())
		}
		return nil
	case s.syncing:
		if err := s.session.show(u, e.Type); err != nil {
			return err
		}
		return s.send(ctx, e)
	case s.session.options.KeepObjects:
		return s.send(ctx, e) // a list is of what was named; nobody takes off what is attached
	default:
		return s.passLive(ctx, e, u)
	}
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

// passLive gives the informer an event that comes after the sync, with what its handler is to
// observe inside.
func (s *stream) passLive(ctx context.Context, e watch.Event, u *unstructured.Unstructured) error {
	o, err := s.session.observation(ctx, Changed, u, e.Type)
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

// advance notes the resourceVersion that the informer has reached. From an empty one the next watch
// would begin with what exists, and miss deletions.
func (s *stream) advance(resourceVersion string) {
	if resourceVersion == "" {
		return
	}
	s.resumeFrom = resourceVersion
	s.session.cursor.Store(&resourceVersion)
}

// stored is an object in the informer's store: its identity, in one piece of memory. To client-go
// it is an object of which nothing but that is known.
type stored struct {
	*metav1.ObjectMeta // nothing: for what client-go does not ask for
	*event.Identity
	// observation is of what came after the sync, until the handler, and nobody else, takes it off.
	observation *Observation
}

var (
	nothing metav1.ObjectMeta

	_ metav1.Object = (*stored)(nil)
)

func (s *stored) GetNamespace() string       { return s.Identity.Namespace }
func (s *stored) GetName() string            { return s.Identity.Name }
func (s *stored) GetUID() types.UID          { return s.Identity.UID }
func (s *stored) GetResourceVersion() string { return s.Identity.ResourceVersion }

// observationKey is where a shallow object that comes after the sync has what is to be observed of
// it, on its way through the informer.
const observationKey = "\x00observation"

// transform is the informer's: it makes of an object what the store is to keep. client-go calls it
// twice for some objects.
func transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	if o, ok := u.Object[observationKey].(*Observation); ok {
		return &stored{&nothing, o.Object.Identity, o}, nil
	}
	return &stored{&nothing, codec.IdentityOf(u), nil}, nil
}

// handle is the informer's handler: it observes what came with an observation, and takes that off
// it. Nothing else is new: the objects of a sync are observed off the wire.
func (s *session) handle(obj any) {
	live, ok := obj.(*stored)
	if !ok || live.observation == nil {
		return
	}
	s.observer.Observe(*live.observation)
	live.observation = nil
	s.inFlight.Release(1)
}
