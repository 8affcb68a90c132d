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

// TestTransform checks that transform returns an object that client-go and the handler accept, and
// that a second call returns the same object.
func TestTransform(t *testing.T) {
	var seen Observation
	s := &session{Source: &Source{observer: observerFunc(func(o Observation) { seen = o })}, inFlight: semaphore.NewWeighted(unlimited)}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	identity := &event.Identity{Namespace: "n", Name: "web", UID: "u", ResourceVersion: "7"}
	u.Object[observationKey] = &Observation{Kind: Changed, ReservedBytes: 1, Event: event.Event{Object: event.NewObject(identity, web)}}
	first, err := transform(u)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := transform(first); again != first || err != nil {
		t.Errorf("the second call of transform returned %v, %v", again, err)
	}
	if key, err := cache.MetaNamespaceKeyFunc(first); key != "n/web" || err != nil {
		t.Errorf("got key %q, %v, want n/web", key, err)
	}
	if err := s.inFlight.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.handle(first)
	if !s.inFlight.TryAcquire(unlimited) {
		t.Error("the event still counts as in flight")
	}
	if seen.Object.Raw() != web || seen.ReservedBytes != 1 || seen.Kind != Changed {
		t.Errorf("observed: %+v", seen)
	}
	object, ok := first.(metav1.Object)
	if !ok || first.(*stored).observation != nil || object.GetUID() != "u" || object.GetResourceVersion() != "7" {
		t.Errorf("the stored object is %v", first)
	}
	seen = Observation{}
	if s.handle(first); !seen.Object.IsZero() {
		t.Errorf("observed again: %+v", seen)
	}
	gone := cache.DeletedFinalStateUnknown{Key: "n/web"}
	if tombstone, err := transform(gone); err != nil || tombstone != gone {
		t.Errorf("transform changed a tombstone to %v, %v", tombstone, err)
	}
}

type observerFunc func(Observation)

func (f observerFunc) Observe(o Observation) { f(o) }
