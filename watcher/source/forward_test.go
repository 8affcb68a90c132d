package source

import (
	"testing"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

var _ dynamic.Interface = (*session)(nil)

const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n","resourceVersion":"7","uid":"u"},"spec":{}}`

// What the transform makes of an object is what client-go asks for of it, and what
// the handler is given; asked again, as client-go does, it changes nothing.
func TestTransform(t *testing.T) {
	var seen Observation
	s := &session{Source: &Source{observer: observer(func(o Observation) { seen = o })}, inFlight: semaphore.NewWeighted(anyNumber)}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	identity := &event.Identity{Namespace: "n", Name: "web", UID: "u", ResourceVersion: "7"}
	u.Object[observationKey] = &Observation{Kind: Changed, ReservedBytes: 1, Event: event.Event{Object: event.NewObject(identity, web)}}
	first, err := transform(u)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := transform(first); again != first || err != nil {
		t.Errorf("transformed again: %v, %v", again, err)
	}
	if key, err := cache.MetaNamespaceKeyFunc(first); key != "n/web" || err != nil {
		t.Errorf("key %q, %v", key, err)
	}
	if err := s.inFlight.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.handle(first)
	if !s.inFlight.TryAcquire(anyNumber) {
		t.Error("it counts as under way for ever")
	}
	if seen.Object.Raw() != web || seen.ReservedBytes != 1 || seen.Kind != Changed {
		t.Errorf("observed: %+v", seen)
	}
	left, ok := first.(metav1.Object)
	if !ok || first.(*stored).observation != nil || left.GetUID() != "u" || left.GetResourceVersion() != "7" {
		t.Errorf("there is %v left", first)
	}
	seen = Observation{}
	if s.handle(first); !seen.Object.IsZero() {
		t.Errorf("observed again: %+v", seen)
	}
	gone := cache.DeletedFinalStateUnknown{Key: "n/web"}
	if tombstone, err := transform(gone); err != nil || tombstone != gone {
		t.Errorf("a tombstone becomes %v, %v", tombstone, err)
	}
}

type observer func(Observation)

func (f observer) Observe(o Observation) { f(o) }
