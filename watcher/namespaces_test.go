package watcher

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// touch changes the namespace, so that it is looked at.
func (r *room) touch(value string) {
	r.t.Helper()
	namespaces := r.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	patch := []byte(`{"metadata":{"annotations":{"touched":"` + value + `"}}}`)
	if _, err := namespaces.Patch(r.t.Context(), r.namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		r.t.Error(err)
	}
}

// chosen resolves to what is in these namespaces.
func (r *room) chosen(all map[string]event.Namespace) event.Found {
	found := event.Found{Namespaces: all}
	for name, n := range all {
		if n.Chosen {
			found.Targets = append(found.Targets, event.Target{Mapping: configMaps, Namespace: name})
		}
	}
	return found
}

// TestDeletedNamespace: what was in a namespace that is deleted is reported as deleted, however
// late that is, and only then the namespace leaves.
func TestDeletedNamespace(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	r.create("a")
	there := map[string]event.Namespace{r.namespace: {UID: "1", Chosen: true}}
	var found atomic.Pointer[event.Found]
	start := r.chosen(there)
	found.Store(&start)
	resolver := resolverFunc(func() (event.Found, error) { return *found.Load(), nil })
	w := watchWith(t, Options{Config: r.config, Resolver: resolver, Targets: start.Targets, Follow: true, Namespaces: there})
	w.await("SYNCED", 1)
	none := r.chosen(map[string]event.Namespace{})
	found.Store(&none)
	r.touch("deleted")
	r.update("a", 1)
	w.await("MODIFIED a=1", 1) // it is still watched
	r.delete("a")
	r.touch("again")
	w.await("LEFT", 1)
	again := r.chosen(map[string]event.Namespace{r.namespace: {UID: "2", Chosen: true}})
	found.Store(&again)
	r.create("b")
	r.touch("new")
	w.await("JOINED", 1)
	w.await("SYNCED", 2)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	want := []string{"ADDED initial a=0", "SYNCED", "MODIFIED a=1", "DELETED a=1", "LEFT", "JOINED", "ADDED b=0", "SYNCED"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}
