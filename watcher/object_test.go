package watcher

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// What is left of an object in the store, and what the ledger knows of one, are
// the same, and JSON that says which object it was.
func TestIdentity(t *testing.T) {
	text := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n","resourceVersion":"7","uid":"u"}}`
	gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	object := identity(gvk, cache.ObjectName{Namespace: "n", Name: "web"}, entry{uid: "u", resourceVersion: "7"})
	if got := object.Raw(); got != text {
		t.Errorf("the ledger makes of it %s", got)
	}
	if tombstone, err := slim(cache.DeletedFinalStateUnknown{Key: "n/web"}); err != nil || tombstone != (cache.DeletedFinalStateUnknown{Key: "n/web"}) {
		t.Errorf("a tombstone becomes %v, %v", tombstone, err)
	}
}
