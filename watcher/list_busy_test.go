package watcher

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// TestListDoesNotWatch checks that List needs no right to watch, and for a named object only the right
// to get it.
func TestListDoesNotWatch(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	r.create("a")
	f, config := newFaults(t, cluster)
	f.set(func(req *http.Request) *http.Response {
		if req.URL.Query().Get("watch") != "" {
			t.Errorf("List sent a watch request: %s", req.URL)
		}
		return nil
	})
	named := r.target()
	named.Name = "a"
	for _, test := range []struct {
		target  event.Target
		request source.Request
		gets    bool
	}{
		{target: r.target()},
		{target: named, gets: true},
		{target: named, request: source.Request{FieldSelector: "metadata.namespace=" + r.namespace}},
		{target: named, request: source.Request{Shard: event.Shard{}}, gets: true},
		{target: event.Target{Mapping: configMaps, Name: "a"}},
	} {
		f.mu.Lock()
		f.requests = nil
		f.mu.Unlock()
		objects, err := newWatcher(t, Options{Config: config, Targets: []event.Target{test.target}, Request: test.request}).List(t.Context())
		if err != nil || len(objects) == 0 {
			t.Errorf("%v: List returned %d objects, %v", test.target, len(objects), err)
		}
		for _, o := range objects {
			if !strings.Contains(o.Raw(), `"data":{"n":`) {
				t.Errorf("%v: the content of %s is %s", test.target, o.Name, o.Raw())
			}
		}
		f.mu.Lock()
		if gets := len(f.requests) == 1 && f.requests[0] == ""; gets != test.gets {
			t.Errorf("%v: requests %q, want a GET: %t", test.target, f.requests, test.gets)
		}
		f.mu.Unlock()
	}
	named.Name = "nothing"
	_, err := newWatcher(t, Options{Config: config, Targets: []event.Target{named}}).List(t.Context())
	if !apierrors.IsNotFound(err) || err.Error() != `configmaps "nothing" not found` {
		t.Errorf("List of an object that does not exist: %v", err)
	}
}
