package source

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/shallow"
)

var _ dynamic.Interface = (*tap)(nil)

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
		s := &session{source: &Source{options: Options{Keep: keep}}}
		u := shallowOf(t, web)
		pass := &ticket{held: 1}
		u.Object[ticketKey] = pass
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
		object, got := open(first)
		if object.Raw() != web || got != pass || !pass.taken.Load() {
			t.Errorf("the handler is given %s, %v", object.Raw(), got)
		}
		strip(first)
		if object, got := open(first); object.Raw() != left || got != nil {
			t.Errorf("there is %s, %v left, want %s", object.Raw(), got, left)
		}
		gone := cache.DeletedFinalStateUnknown{Key: "n/web"}
		if tombstone, err := s.transform(gone); err != nil || tombstone != gone {
			t.Errorf("a tombstone becomes %v, %v", tombstone, err)
		}
	}
}
