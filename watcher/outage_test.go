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

// TestDeniedThenOutage: a target that is denied has had its answer. An outage
// that it meets must not end the others.
func TestDeniedThenOutage(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	ofSecrets := func(req *http.Request) bool { return strings.Contains(req.URL.Path, "secrets") }
	f.set(func(req *http.Request) *http.Response {
		if ofSecrets(req) {
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
		if ofSecrets(req) {
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

// TestCutRelist: a list after a gap is cut. It named an object that is gone
// before the next: so its deletion is reported, too.
func TestCutRelist(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
			return respond(http.StatusOK, r.addedThenGone("b"))
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

// addedThenGone is the event that reports an object, which it then deletes.
func (r *room) addedThenGone(name string) string {
	event := r.added(name)
	r.delete(name)
	return event
}

// TestPassing404: the server did not know the resource for a moment. What
// changed meanwhile is a gap.
func TestPassing404(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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

// TestExpiredAtStart: to a request that goes on from nothing, 410 is an error
// like any other; the informer would ask again as fast as it could.
func TestExpiredAtStart(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	f.set(func(*http.Request) *http.Response { return respond(http.StatusGone, expired) })
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	if err := <-w.done; err == nil {
		t.Error("no error")
	}
	if len(f.requests) != 1 {
		t.Errorf("%d requests", len(f.requests))
	}
}

// TestEndsAtOnce: a proxy passes one bookmark and closes. It is asked again
// with a wait, not as fast as it answers.
func TestEndsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
		t.Errorf("asked again after %v", waited)
	}
}

// TestSyncAlwaysCut: a proxy ends each request before the initial events have.
// The objects are listed instead.
func TestSyncAlwaysCut(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
