package source

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

// stored is an object in the informer's store: its identity, in one piece of memory. To
// client-go it is an object of which nothing but that is known.
type stored struct {
	*metav1.ObjectMeta // nothing: for what client-go does not ask for
	*event.Identity
	// observation is of what came after the sync, until the handler has been given it; none
	// but the handler looks.
	observation *Observation
}

var (
	nothing metav1.ObjectMeta

	_ metav1.Object              = (*stored)(nil)
	_ cache.ResourceEventHandler = (*session)(nil)
)

func (s *stored) GetNamespace() string       { return s.Identity.Namespace }
func (s *stored) GetName() string            { return s.Identity.Name }
func (s *stored) GetUID() types.UID          { return s.Identity.UID }
func (s *stored) GetResourceVersion() string { return s.Identity.ResourceVersion }

// observationKey is where a shallow object that comes after the sync has what is to be
// observed of it, on its way through the informer.
const observationKey = "\x00observation"

// transform is the informer's: it makes of an object what the store is to keep.
// client-go calls it twice for some objects.
func transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	if o, ok := u.Object[observationKey].(*Observation); ok {
		return &stored{&nothing, o.Object.Identity, o}, nil
	}
	return &stored{&nothing, shallow.Identity(u), nil}, nil
}

// The session is the handler of its informer. Of what the informer passes on only
// what came after the sync is new: the objects of a sync are observed off the wire.

// OnAdd implements cache.ResourceEventHandler.
func (s *session) OnAdd(obj any, _ bool) { s.handle(obj) }

// OnUpdate implements cache.ResourceEventHandler.
func (s *session) OnUpdate(_, obj any) { s.handle(obj) }

// OnDelete implements cache.ResourceEventHandler.
func (s *session) OnDelete(obj any) { s.handle(obj) }

// handle observes what came with an observation, and takes that off it.
func (s *session) handle(obj any) {
	live, ok := obj.(*stored)
	if !ok || live.observation == nil {
		return
	}
	s.observer.Observe(*live.observation)
	live.observation = nil
	s.inFlight.Release(1)
}
