package source

import (
	"testing"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/shallow"
)

var _ dynamic.Interface = (*sessionClient)(nil)

const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n","resourceVersion":"7","uid":"u"},"spec":{}}`

func shallowOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u, err := shallow.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// What the transform makes of an object is what client-go asks for of it, and what
// the handler is given; asked again, as client-go does, it changes nothing.
func TestTransform(t *testing.T) {
	identity := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n","resourceVersion":"7","uid":"u"}}`
	for keep, left := range map[Keep]string{KeepIdentity: identity, KeepContent: web} {
		s := &session{source: &Source{options: Options{Keep: keep}}, inFlight: semaphore.NewWeighted(anyNumber)}
		u := shallowOf(t, web)
		u.Object[attachmentKey] = &attachment{held: 1}
		first, err := s.transform(u)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.transform(first); again != first || err != nil {
			t.Errorf("transformed again: %v, %v", again, err)
		}
		if key, err := cache.MetaNamespaceKeyFunc(first); key != "n/web" || err != nil {
			t.Errorf("key %q, %v", key, err)
		}
		if object := open(first); object.Raw() != web {
			t.Errorf("the handler is given %s", object.Raw())
		}
		var seen Observation
		s.source.observer, s.informer = observer(func(o Observation) { seen = o }), nil
		if err := s.inFlight.Acquire(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.OnAdd(first, false)
		if !s.inFlight.TryAcquire(anyNumber) {
			t.Error("it counts as under way for ever")
		}
		if seen.Object.Raw() != web || seen.Held != 1 || seen.Kind != Changed {
			t.Errorf("observed: %+v", seen)
		}
		if object := open(first); object.Raw() != left {
			t.Errorf("there is %s left, want %s", object.Raw(), left)
		}
		seen = Observation{}
		if s.OnUpdate(first, first); !seen.Object.IsZero() {
			t.Errorf("observed again: %+v", seen)
		}
		gone := cache.DeletedFinalStateUnknown{Key: "n/web"}
		if tombstone, err := s.transform(gone); err != nil || tombstone != gone {
			t.Errorf("a tombstone becomes %v, %v", tombstone, err)
		}
	}
}

type observer func(Observation)

func (f observer) Observe(o Observation) { f(o) }
