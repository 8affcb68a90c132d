package watcher

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

func always(targets ...event.Target) Resolver {
	return resolverFunc(func() (event.Resolution, error) { return event.Resolution{Targets: targets}, nil })
}

// TestMissing checks that it counts as an outage if discovery lists a resource that the server does
// not serve.
func TestMissing(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Resolver: always(r.target()), Targets: []event.Target{r.target()}, HeartbeatInterval: 100 * time.Millisecond})
	w.await("SYNCED", 1)
	f.set(func(*http.Request) *http.Response { return respond(http.StatusNotFound, notFound) })
	f.cut()
	w.await("DISCONNECTED", 1)
	beats := strings.Count(strings.Join(w.lines(), " "), "HEARTBEAT")
	w.await("HEARTBEAT", beats+1)
	f.set(nil)
	w.await("SYNCED", 2)
	w.stop()
	connected := false
	for _, e := range w.events {
		switch e.Type {
		case event.Synced, event.Gap, event.Disconnected: // a heartbeat may fall between the first two
			connected = e.Type != event.Disconnected
		case event.Heartbeat:
			if e.Connected != connected {
				t.Errorf("connected is %v:\n%s", e.Connected, strings.Join(w.lines(), "\n"))
			}
		}
	}
}

// TestVersionsAlternate checks that requests back off if discovery alternates between two versions,
// as two API servers do in an upgrade, and the server serves neither.
func TestVersionsAlternate(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	var resolutions atomic.Int32
	version := func(n int32) event.Target {
		gv := schema.GroupVersion{Group: "autoscaling", Version: []string{"v1", "v2"}[n%2]}
		return event.Target{Mapping: &meta.RESTMapping{
			Resource:         gv.WithResource("horizontalpodautoscalers"),
			GroupVersionKind: gv.WithKind("HorizontalPodAutoscaler"),
			Scope:            meta.RESTScopeNamespace,
		}, Namespace: r.namespace}
	}
	resolver := resolverFunc(func() (event.Resolution, error) {
		return event.Resolution{Targets: []event.Target{version(resolutions.Add(1))}}, nil
	})
	w := watchWith(t, Options{Config: config, Resolver: resolver, Targets: []event.Target{version(0)}})
	w.await("SYNCED", 1)
	f.set(func(*http.Request) *http.Response { return respond(http.StatusNotFound, notFound) })
	before, began := f.count(), time.Now()
	f.cut()
	f.awaitRequests(before + 4)
	if took := time.Since(began); took < 2*time.Second { // waits of 0.4, 0.8 and 1.6 seconds at least
		t.Errorf("4 requests in %v, want at least 2 s", took)
	}
	w.stop()
}

// TestGoneAtStart checks that a run continues if one of two resources disappears between discovery
// and the first watch.
func TestGoneAtStart(t *testing.T) {
	t.Parallel()
	for _, follow := range []bool{true, false} {
		t.Run(fmt.Sprint("follow ", follow), func(t *testing.T) { testGoneAtStart(t, follow) })
	}
}

func testGoneAtStart(t *testing.T, follow bool) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	left := make(chan struct{})
	f.set(func(req *http.Request) *http.Response {
		switch {
		case strings.Contains(req.URL.Path, "secrets"):
			return respond(http.StatusNotFound, notFound)
		case strings.Contains(req.URL.Path, "/configmaps"):
			<-left
		}
		return nil
	})
	w := watchWith(t, Options{Config: config, Resolver: always(r.target()), Follow: follow, HeartbeatInterval: 100 * time.Millisecond,
		Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}}})
	w.await("GONE", 1)
	close(left)
	w.await("SYNCED", 1)
	beats := strings.Count(strings.Join(w.lines(), " "), "HEARTBEAT")
	w.await("HEARTBEAT", beats+2)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if last := w.events[len(w.events)-1]; last.Count != 1 || !last.Connected {
		t.Errorf("%d targets, connected: %v", last.Count, last.Connected)
	}
	if strings.Contains(strings.Join(w.lines(), " "), "DISCONNECTED") {
		t.Error(w.lines())
	}
}

// TestOnlyGone checks that a run with Follow continues if its only resource does not exist, and
// that the resource joins later.
func TestOnlyGone(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	gone := *configMaps
	gone.Resource = schema.GroupVersionResource{Group: "nowhere.example.com", Version: "v1", Resource: "widgets"}
	var there atomic.Bool
	resolver := resolverFunc(func() (found event.Resolution, err error) {
		if there.Load() {
			found.Targets = []event.Target{r.target()}
		}
		return found, nil
	})
	w := watchWith(t, Options{Config: r.config, Resolver: resolver, Follow: true, Targets: []event.Target{{Mapping: &gone, Namespace: r.namespace}}})
	w.await("GONE", 1)
	there.Store(true)
	r.define(r.namespace + ".onlygone.example.com")
	w.await("SYNCED", 1)
	w.stop()
	if diff := cmp.Diff([]string{"GONE", "ARRIVED", "SYNCED"}, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestHangsAtStart checks that the others are watched if one resource does not answer, and that it
// joins them when it does.
func TestHangsAtStart(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	f.set(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "secrets") {
			<-req.Context().Done()
			return respond(http.StatusGatewayTimeout, internal)
		}
		return nil
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}},
		Request: source.Request{RequestTimeout: time.Second, SyncSilenceTimeout: time.Second}})
	w.await("DISCONNECTED", 1)
	f.set(nil)
	w.await("SYNCED", 2)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}

// TestOverlap checks that nothing is reported twice if an object that is watched by name comes to
// be watched with all others, as when a definition gets a category.
func TestOverlap(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	one := r.target()
	one.Name = "a"
	r.create("a")
	var wider atomic.Bool
	resolver := resolverFunc(func() (found event.Resolution, err error) {
		found.Targets = []event.Target{one}
		if wider.Load() {
			found.Targets = []event.Target{r.target()}
		}
		return found, nil
	})
	w := watchWith(t, Options{Config: r.config, Resolver: resolver, Follow: true, Targets: []event.Target{one}})
	w.await("SYNCED", 1)
	wider.Store(true)
	r.define(r.namespace + ".overlap.example.com")
	w.await("ARRIVED", 1)
	w.await("SYNCED", 2)
	r.create("b")
	r.update("a", 7)
	r.delete("a")
	w.await("DELETED a=7", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "ARRIVED", "SYNCED", "ADDED b=0", "MODIFIED a=7", "DELETED a=7"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestListGone checks that List returns an error if the resource disappears during the list.
func TestListGone(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	var asked atomic.Bool
	f.set(func(req *http.Request) *http.Response {
		if asked.CompareAndSwap(false, true) {
			return respond(http.StatusOK, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"x","uid":"1","resourceVersion":"5"}}}`+"\n")
		}
		return respond(http.StatusNotFound, notFound)
	})
	w := newWatcher(t, Options{Config: config, Resolver: always(), Targets: []event.Target{r.target()}})
	if objects, err := w.List(t.Context()); err == nil {
		t.Errorf("List returned %d objects and no error", len(objects))
	}
}
