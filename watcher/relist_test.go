package watcher

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher/event"
)

const unprocessable = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitialEvents is forbidden","reason":"Invalid","code":422}`

// TestPageExpires checks that, if the continue token of a list expires, objects of the second page
// are neither missing nor reported as deleted.
func TestPageExpires(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	r.create("b")
	f.set(func(req *http.Request) *http.Response {
		query := req.URL.Query()
		switch {
		case query.Get("sendInitialEvents") != "":
			return respond(http.StatusUnprocessableEntity, unprocessable)
		case query.Get("continue") != "":
			return respond(http.StatusGone, expired)
		case query.Get("limit") != "":
			query.Set("limit", "1")
			req.URL.RawQuery = query.Encode()
		}
		return nil
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	r.update("b", 1)
	w.await("MODIFIED b=1", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "ADDED initial b=0", "SYNCED", "MODIFIED b=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestListIsCurrent checks that a list that follows incomplete initial events returns the current
// state, not that of the informer's last resourceVersion, because newer states may have been
// reported.
func TestListIsCurrent(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	var lost atomic.Bool
	f.set(func(req *http.Request) *http.Response {
		switch {
		case req.URL.Query().Get("sendInitialEvents") != "":
			return respond(http.StatusOK, r.added("a"))
		case lost.CompareAndSwap(false, true):
			r.update("a", 1)
			return respond(http.StatusGone, expired)
		}
		return nil
	})
	f.cut()
	w.await("GAP", 1)
	r.update("a", 2)
	w.await("MODIFIED a=2", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "MODIFIED a=1", "GAP", "MODIFIED a=2"}
	got := slices.DeleteFunc(w.lines(), func(line string) bool { return line == "DISCONNECTED" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// added returns the ADDED event of an object in its current state.
func (r *sandbox) added(name string) string {
	u, err := r.configMaps().Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Error(err)
		return ""
	}
	raw, err := u.MarshalJSON()
	if err != nil {
		r.t.Error(err)
	}
	return `{"type":"ADDED","object":` + strings.TrimSpace(string(raw)) + "}\n"
}

// TestBookmarkWithoutVersion checks that a watch does not resume at a bookmark without a
// resourceVersion, which no API server sends. It would then start at the present and miss changes.
func TestBookmarkWithoutVersion(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	var once sync.Once
	f.set(func(*http.Request) (response *http.Response) {
		once.Do(func() {
			r.delete("a")
			response = respond(http.StatusOK, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}}`+"\n")
		})
		return response
	})
	f.cut()
	w.await("DELETED a=0", 1)
	w.stop()
}
