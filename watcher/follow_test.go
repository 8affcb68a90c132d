package watcher

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// define creates a definition of widgets in group, and deletes it at the end of the test.
func (r *sandbox) define(group string) *meta.RESTMapping {
	r.t.Helper()
	text := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.GROUP"},
		"spec":{"group":"GROUP","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
		"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(strings.ReplaceAll(text, "GROUP", group))); err != nil {
		r.t.Fatal(err)
	}
	crds := r.client.Resource(definitions.Resource())
	if _, err := crds.Create(r.t.Context(), u, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { crds.Delete(context.Background(), u.GetName(), metav1.DeleteOptions{}) })
	return &meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"},
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"},
		Scope:            meta.RESTScopeNamespace,
	}
}

// TestFollow checks that a new resource joins after its definition was created.
func TestFollow(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	var widgets atomic.Pointer[meta.RESTMapping]
	resolver := resolverFunc(func() (event.Resolution, error) {
		found := event.Resolution{Targets: []event.Target{r.target()}}
		if w := widgets.Load(); w != nil {
			found.Targets = append(found.Targets, event.Target{Mapping: w, Namespace: r.namespace})
		}
		return found, nil
	})
	w := watchWith(t, Options{Config: r.config, Resolver: resolver, Targets: []event.Target{r.target()}, Follow: true})
	w.await("SYNCED", 1)
	widgets.Store(r.define("follow.example.com"))
	w.await("ARRIVED", 1)
	w.await("SYNCED", 2)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}

// TestFollowByPolling checks that the server is polled if the user may not watch definitions, and
// that objects of a target that joins do not count as initial.
func TestFollowByPolling(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	f.set(func(req *http.Request) *http.Response {
		switch {
		case strings.Contains(req.URL.Path, "customresourcedefinitions"):
			return respond(http.StatusForbidden, forbidden)
		case strings.Contains(req.URL.Path, "apiservices"):
			return respond(http.StatusNotFound, notFound)
		default:
			return nil
		}
	})
	var resolutions atomic.Int32
	resolver := resolverFunc(func() (found event.Resolution, err error) {
		if resolutions.Add(1) > 3 {
			found.Targets = []event.Target{r.target()}
		}
		return found, nil
	})
	w := watchWith(t, Options{Config: config, Resolver: resolver, Follow: true, PollInterval: 50 * time.Millisecond})
	w.await("SYNCED", 1)
	w.stop()
	want := []string{"ARRIVED", "ADDED a=0", "SYNCED"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestFollowByPollingOf404 checks that the server is polled if it does not serve definitions.
func TestFollowByPollingOf404(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	f.set(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "customresourcedefinitions") {
			return respond(http.StatusNotFound, notFound)
		}
		return nil
	})
	var resolutions atomic.Int32
	resolver := resolverFunc(func() (found event.Resolution, err error) {
		if resolutions.Add(1) > 20 {
			found.Targets = []event.Target{r.target()}
		}
		return found, nil
	})
	w := watchWith(t, Options{Config: config, Resolver: resolver, Follow: true, PollInterval: 50 * time.Millisecond})
	w.await("SYNCED", 1)
	w.stop()
}

// TestFollower checks that resolutions follow a change soon, and at most once a second while
// changes continue.
func TestFollower(t *testing.T) {
	f := newFollower(time.Hour)
	within := func(least, most time.Duration) {
		t.Helper()
		if wait := time.Until(f.due); wait > most || wait < least-time.Second/20 {
			t.Errorf("the next resolution is due in %v, want %v to %v", wait, least, most)
		}
	}
	within(resolveInterval, resolveInterval)
	f.scheduleSoon(0)
	within(0, 100*time.Millisecond)
	f.scheduleNext() // after the resolution
	within(400*time.Millisecond, 400*time.Millisecond)
	for range 5 {
		f.scheduleSoon(0)
		f.scheduleNext()
		within(time.Second, time.Second)
	}
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second, resolveInterval} {
		f.scheduleNext()
		within(wait, wait)
	}
	f.awaitsDeletions = true
	f.scheduleNext()
	within(4*time.Second, 4*time.Second)
}

// TestMissingInDiscovery checks that a watch continues if discovery does not list its resource but
// the server serves it, as one of several API servers may do for a while.
func TestMissingInDiscovery(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	resolver := resolverFunc(func() (event.Resolution, error) { return event.Resolution{}, nil })
	w := watchWith(t, Options{Config: config, Resolver: resolver, Targets: []event.Target{r.target()}, Follow: true})
	w.await("SYNCED", 1)
	f.awaitWatches(3 + 1) // of the target, of both triggers, and of the target again
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "MODIFIED a=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestDiscoveryFails checks that a 404 does not make a target Gone while discovery of its group
// fails.
func TestDiscoveryFails(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	resolver := resolverFunc(func() (event.Resolution, error) {
		return event.Resolution{FailedGroups: []schema.GroupVersion{{Version: "v1"}}}, nil
	})
	w := watchWith(t, Options{Config: config, Resolver: resolver, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	f.set(func(*http.Request) *http.Response {
		f.set(nil)
		return respond(http.StatusNotFound, notFound)
	})
	f.cut()
	w.await("SYNCED", 2)
	w.stop()
	for _, line := range w.lines() {
		if line == "GONE" || strings.HasPrefix(line, "DELETED") {
			t.Error(line)
		}
	}
}

// TestUnservedForAMoment checks that a target does not become Gone, and its objects are not reported as deleted, if the server
// and its discovery lack the resource only for a moment.
func TestUnservedForAMoment(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	var resolutions atomic.Int32
	resolver := resolverFunc(func() (event.Resolution, error) {
		if resolutions.Add(1) == 1 {
			return event.Resolution{}, nil
		}
		return event.Resolution{Targets: []event.Target{r.target()}}, nil
	})
	w := watchWith(t, Options{Config: config, Resolver: resolver, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	f.set(func(*http.Request) *http.Response {
		f.set(nil)
		return respond(http.StatusNotFound, notFound)
	})
	f.cut()
	w.await("SYNCED", 2)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "DISCONNECTED", "GAP", "SYNCED"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestBrokenAtStart checks that the others are watched if one resource fails at the start, and that
// it joins them when it works.
func TestBrokenAtStart(t *testing.T) {
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
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}}})
	w.await("SYNCED", 1)
	w.await("DISCONNECTED", 1)
	f.set(nil)
	w.await("SYNCED", 2)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}
