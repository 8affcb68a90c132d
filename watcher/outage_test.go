package watcher

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

const (
	forbidden = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"secrets is forbidden","reason":"Forbidden","code":403}`
	internal  = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"outage","reason":"InternalError","code":500}`
)

var secrets = &meta.RESTMapping{
	Resource:         schema.GroupVersionResource{Version: "v1", Resource: "secrets"},
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
	Scope:            meta.RESTScopeNamespace,
}

// TestDeniedThenOutage checks that an outage of a denied target does not end the others.
func TestDeniedThenOutage(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	isSecrets := func(req *http.Request) bool { return strings.Contains(req.URL.Path, "secrets") }
	f.set(func(req *http.Request) *http.Response {
		if isSecrets(req) {
			return respond(http.StatusForbidden, forbidden)
		}
		return nil
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}}})
	w.await("SYNCED", 1)
	w.await("DENIED", 1)
	met := make(chan struct{})
	var once sync.Once
	f.set(func(req *http.Request) *http.Response {
		if isSecrets(req) {
			once.Do(func() { close(met) })
		}
		return respond(http.StatusInternalServerError, internal)
	})
	f.cut()
	<-met
	f.set(nil)
	w.await("SYNCED", 2)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}

// TestCutRelist checks that, if a list after a gap is cut, an object of it that is deleted before
// the next list is reported as deleted.
func TestCutRelist(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	var step atomic.Int32
	f.set(func(req *http.Request) *http.Response {
		initial := req.URL.Query().Get("sendInitialEvents") != ""
		switch {
		case !initial && step.CompareAndSwap(0, 1):
			r.create("b")
			return respond(http.StatusGone, expired)
		case initial && step.CompareAndSwap(1, 2):
			return respond(http.StatusOK, r.addedThenDeleted("b"))
		}
		return nil
	})
	f.cut()
	w.await("GAP", 1)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "ADDED b=0", "DISCONNECTED", "DELETED unknown b", "GAP", "MODIFIED a=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// addedThenDeleted returns the ADDED event of an object, and then deletes the object.
func (r *sandbox) addedThenDeleted(name string) string {
	event := r.added(name)
	r.delete(name)
	return event
}

// TestTransient404 checks that changes during a transient 404 are reported as a gap.
func TestTransient404(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	resolver := resolverFunc(func() (event.Resolution, error) { return event.Resolution{Targets: []event.Target{r.target()}}, nil })
	w := watchWith(t, Options{Config: config, Resolver: resolver, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	var once sync.Once
	f.set(func(*http.Request) (response *http.Response) {
		once.Do(func() {
			r.update("a", 1)
			r.update("a", 2)
			response = respond(http.StatusNotFound, notFound)
		})
		return response
	})
	f.cut()
	w.await("SYNCED", 2)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "DISCONNECTED", "MODIFIED a=2", "GAP", "SYNCED"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestExpiredAtStart checks that a 410 to a request without a resourceVersion is an error. If the
// informer received it, it would retry without a wait.
func TestExpiredAtStart(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	f.set(func(*http.Request) *http.Response { return respond(http.StatusGone, expired) })
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	if err := <-w.done; err == nil {
		t.Error("Run returned no error")
	}
	if len(f.requests) != 1 {
		t.Errorf("%d requests, want 1", len(f.requests))
	}
}

// TestEndsAtOnce checks that there is a wait before the next request if a proxy passes one bookmark
// and ends the watch.
func TestEndsAtOnce(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	const bookmark = `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"100000"}}}` + "\n"
	var times []time.Time
	third := make(chan struct{})
	f.set(func(*http.Request) *http.Response {
		if times = append(times, time.Now()); len(times) == 3 {
			close(third)
		}
		return respond(http.StatusOK, bookmark)
	})
	f.cut()
	<-third
	w.stop()
	if waited := times[2].Sub(times[1]); waited < 400*time.Millisecond {
		t.Errorf("requested again after %v, want at least 400 ms", waited)
	}
}

// TestSyncAlwaysCut checks that objects are listed if a proxy ends each watch before the initial
// events are complete.
func TestSyncAlwaysCut(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	a, err := r.configMaps().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := a.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	f.set(func(req *http.Request) *http.Response {
		if req.URL.Query().Get("sendInitialEvents") == "" {
			return nil
		}
		return respond(http.StatusOK, `{"type":"ADDED","object":`+strings.TrimSpace(string(raw))+"}\n")
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.stop()
}
