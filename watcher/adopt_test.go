package watcher

import (
	"net/http"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// TestAdoptAtStart: what was resolved is not served any more at the first watch,
// but another version of it is.
func TestAdoptAtStart(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
