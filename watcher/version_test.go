package watcher

import (
	"net/http"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// TestOtherVersionAtStart checks that a run continues with another version of a resource if the
// server no longer serves the resolved one at the first watch.
func TestOtherVersionAtStart(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	old := *configMaps
	old.Resource.Version = "v1beta1"
	f.set(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "/v1beta1/") {
			return respond(http.StatusNotFound, notFound)
		}
		return nil
	})
	w := watchWith(t, Options{Config: config, Resolver: always(r.target()), Targets: []event.Target{{Mapping: &old, Namespace: r.namespace}}})
	w.await("SYNCED", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}
