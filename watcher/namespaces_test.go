package watcher

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// touch changes the namespace, which triggers a resolution.
func (r *sandbox) touch(value string) {
	r.t.Helper()
	namespaces := r.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	patch := []byte(`{"metadata":{"annotations":{"touched":"` + value + `"}}}`)
	if _, err := namespaces.Patch(r.t.Context(), r.namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		r.t.Error(err)
	}
}

// resolve returns a Resolution with the ConfigMaps of the selected namespaces.
func (r *sandbox) resolve(all map[string]event.Namespace) event.Resolution {
	found := event.Resolution{Namespaces: all}
	for name, n := range all {
		if n.Selected {
			found.Targets = append(found.Targets, event.Target{Mapping: configMaps, Namespace: name})
		}
	}
	return found
}

// TestDeletedNamespace checks that the deletions of all objects of a deleted namespace are
// reported, however late they are, before the target leaves.
func TestDeletedNamespace(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	r.create("a")
	initial := map[string]event.Namespace{r.namespace: {UID: "1", Selected: true}}
	var found atomic.Pointer[event.Resolution]
	start := r.resolve(initial)
	found.Store(&start)
	resolver := resolverFunc(func() (event.Resolution, error) { return *found.Load(), nil })
	w := watchWith(t, Options{Config: r.config, Resolver: resolver, Targets: start.Targets, Follow: true, Namespaces: initial})
	w.await("SYNCED", 1)
	none := r.resolve(map[string]event.Namespace{})
	found.Store(&none)
	r.touch("deleted")
	r.update("a", 1)
	w.await("MODIFIED a=1", 1) // the target is still watched
	r.delete("a")
	r.touch("again")
	w.await("LEFT", 1)
	again := r.resolve(map[string]event.Namespace{r.namespace: {UID: "2", Selected: true}})
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

// TestDeniedInDeletedNamespace checks that a denied target leaves when its namespace is deleted,
// because its RoleBinding may have been deleted first, and so does a target that never synced.
func TestDeniedInDeletedNamespace(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	f.set(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "secrets") {
			return respond(http.StatusInternalServerError, internal)
		}
		return nil
	})
	initial := map[string]event.Namespace{r.namespace: {UID: "1", Selected: true}}
	start := r.resolve(initial)
	start.Targets = append(start.Targets, event.Target{Mapping: secrets, Namespace: r.namespace})
	var found atomic.Pointer[event.Resolution]
	found.Store(&start)
	resolver := resolverFunc(func() (event.Resolution, error) { return *found.Load(), nil })
	w := watchWith(t, Options{Config: config, Resolver: resolver, Targets: start.Targets, Follow: true, Namespaces: initial})
	w.await("SYNCED", 1)
	w.await("DISCONNECTED", 1)
	f.set(func(req *http.Request) *http.Response {
		switch {
		case strings.Contains(req.URL.Path, "secrets"):
			return respond(http.StatusInternalServerError, internal)
		case strings.Contains(req.URL.Path, "configmaps"):
			return respond(http.StatusForbidden, forbidden)
		}
		return nil
	})
	f.cut()
	w.await("DENIED", 1)
	none := r.resolve(map[string]event.Namespace{})
	found.Store(&none)
	r.touch("deleted")
	w.await("LEFT", 2)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	var ends []string
	for _, line := range w.lines() {
		if line == "LEFT" || strings.HasPrefix(line, "DELETED") {
			ends = append(ends, line)
		}
	}
	if diff := cmp.Diff([]string{"DELETED unknown a", "LEFT", "LEFT"}, ends); diff != "" {
		t.Error(diff)
	}
}

// TestNamespacesJoinInOrder checks that targets that join together are sorted by namespace, and
// then in the order of the resources.
func TestNamespacesJoinInOrder(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	var found event.Resolution
	found.Namespaces = map[string]event.Namespace{}
	for _, m := range []*meta.RESTMapping{secrets, configMaps} {
		for _, name := range []string{"z2", "z1"} {
			found.Targets = append(found.Targets, event.Target{Mapping: m, Namespace: name})
			found.Namespaces[name] = event.Namespace{UID: "1", Selected: true}
		}
	}
	resolver := resolverFunc(func() (event.Resolution, error) { return found, nil })
	w := watchWith(t, Options{Config: r.config, Resolver: resolver, Follow: true, Namespaces: map[string]event.Namespace{}})
	w.await("JOINED", 4)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	var joined []string
	for _, e := range w.events {
		if e.Type == event.Joined {
			joined = append(joined, e.Target.Namespace+" "+e.Target.Resource().Resource)
		}
	}
	want := []string{"z1 secrets", "z1 configmaps", "z2 secrets", "z2 configmaps"}
	if diff := cmp.Diff(want, joined); diff != "" {
		t.Error(diff)
	}
}

// clockSkew is a transport that makes the server's clock be ahead.
type clockSkew struct {
	next  http.RoundTripper
	ahead time.Duration
}

func (d clockSkew) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(r)
	if err == nil {
		response.Header.Set("Date", time.Now().Add(d.ahead).UTC().Format(http.TimeFormat))
	}
	return response, err
}

// TestExistingNamespaceJoins checks that, if a namespace that existed at the start joins, its
// objects count as initial if they were created before the start, by the server's clock.
func TestExistingNamespaceJoins(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]string{time.Hour: "ADDED initial a=0", -time.Hour: "ADDED a=0"} {
		t.Run(want, func(t *testing.T) { testExistingNamespaceJoins(t, ahead, want) })
	}
}

func testExistingNamespaceJoins(t *testing.T, ahead time.Duration, want string) {
	t.Parallel()
	r := newSandbox(t, cluster)
	r.create("a")
	config := config(t, cluster)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return clockSkew{next, ahead} })
	initial := map[string]event.Namespace{r.namespace: {UID: "1"}}
	resolver := resolverFunc(func() (event.Resolution, error) {
		return r.resolve(map[string]event.Namespace{r.namespace: {UID: "1", Selected: true}}), nil
	})
	w := watchWith(t, Options{Config: config, Resolver: resolver, Follow: true, Namespaces: initial})
	w.await("SYNCED", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"JOINED", want, "SYNCED"}, w.lines()); diff != "" {
		t.Error(diff)
	}
}
