package watcher

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// TestBookmarks checks that each bookmark comes after every change that happened before its time,
// also if connections are lost or nothing changes for longer than the servers' bookmark interval.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}}, Request: source.Request{Bookmarks: true, MinWatchTimeout: 12 * time.Second}})
	w.await("SYNCED", 2)
	done := map[string]time.Time{"ADDED initial a=0": time.Now()}
	w.awaitConfirmed(r.target().Key(), time.Now())
	w.awaitConfirmed(event.Target{Mapping: secrets, Namespace: r.namespace}.Key(), time.Now())
	for n := range 40 {
		if n%10 == 5 {
			f.cut()
		}
		r.update("a", n+1)
		done[fmt.Sprint("MODIFIED a=", n+1)] = time.Now()
	}
	w.awaitConfirmed(r.target().Key(), time.Now())
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	lines := w.lines()
	for line, at := range done {
		seen := false
		for i, e := range w.events {
			seen = seen || lines[i] == line
			if e.Type == event.Bookmark && e.Target == r.target() && !seen && e.Heard.After(at) {
				t.Errorf("%s at %s was delivered after a bookmark that confirms changes up to %s", line, at, e.Heard)
			}
		}
	}
}

// TestStalledConnection checks that, if a connection stalls and then continues without a loss, a
// bookmark without a time reports that changes may have arrived late, before another bookmark
// confirms them.
func TestStalledConnection(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{Bookmarks: true, MinWatchTimeout: 30 * time.Second}})
	w.await("SYNCED", 1)
	w.awaitConfirmed(r.target().Key(), time.Now())
	release := f.hold()
	r.update("a", 1)
	changed := time.Now()
	for time.Since(changed) < event.ProbeInterval+2*event.ProbeTimeout { // until a probe was sent after the change and is overdue
		f.awaitRequests(f.count() + 1)
	}
	release()
	released := time.Now()
	w.awaitConfirmed(r.target().Key(), released)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	for _, e := range w.events {
		switch {
		case e.Type == event.Disconnected:
			return // the loss was noticed
		case e.Type != event.Bookmark:
		case e.Heard.IsZero():
			return
		case e.Heard.After(changed):
			t.Fatalf("a bookmark at %s confirms all changes up to %s, but the change of %s arrived after %s", e.Time, e.Heard, changed, released)
		}
	}
	t.Error("the stall was not reported")
}

var kubeEvents = &meta.RESTMapping{
	Resource:         schema.GroupVersionResource{Version: "v1", Resource: "events"},
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Event"},
	Scope:            meta.RESTScopeNamespace,
}

// TestBookmarksOfEvents checks that events are confirmed although the server sends no bookmarks for them, while other
// resources change, and that each bookmark comes after every change that happened before its time. It is not parallel,
// because many changes of other tests would prevent the comparison.
func TestBookmarksOfEvents(t *testing.T) {
	r := newSandbox(t, cluster)
	target := event.Target{Mapping: kubeEvents, Namespace: r.namespace}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{target}, Request: source.Request{Bookmarks: true, MinWatchTimeout: 30 * time.Second}})
	w.await("SYNCED", 1)
	r.create("other")
	w.awaitConfirmed(target.Key(), time.Now())
	events := r.client.Resource(kubeEvents.Resource).Namespace(r.namespace)
	e := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "reason": "Tested", "message": "short-lived",
		"metadata":       map[string]any{"name": "short", "namespace": r.namespace},
		"involvedObject": map[string]any{"namespace": r.namespace},
	}}
	if _, err := events.Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := events.Delete(t.Context(), "short", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted := time.Now()
	for n := range 3 {
		r.update("other", n+1)
		w.awaitConfirmed(target.Key(), time.Now())
	}
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	sawDeletion := false
	for _, e := range w.events {
		sawDeletion = sawDeletion || e.Type == event.Deleted
		if e.Type == event.Bookmark && e.Heard.After(deleted) && !sawDeletion {
			t.Errorf("a bookmark confirms all changes up to %s, but the deletion at %s came after it", e.Heard, deleted)
		}
	}
	if !sawDeletion {
		t.Error("the deletion was not delivered")
	}
}

// awaitConfirmed returns when a bookmark confirms every change to a target up to time at.
func (w *testRun) awaitConfirmed(key event.Key, at time.Time) {
	w.t.Helper()
	for n := 1; ; n++ {
		w.await("BOOKMARK", n)
		w.mu.Lock()
		for _, e := range w.events {
			if e.Type == event.Bookmark && e.Target.Key() == key && !e.Heard.Before(at) {
				w.mu.Unlock()
				return
			}
		}
		w.mu.Unlock()
	}
}
