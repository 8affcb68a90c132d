package watcher

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// historyOf returns a HistoryFunc for an earlier run that delivered events.
func historyOf(complete bool, events ...event.Event) event.HistoryFunc {
	reported := map[cache.ObjectName]event.ReportedObject{}
	for _, e := range events {
		switch o := e.Object; {
		case e.Type.IsStatus():
		case e.Type == event.Deleted:
			delete(reported, cache.ObjectName{Namespace: o.Namespace, Name: o.Name})
		default:
			reported[cache.ObjectName{Namespace: o.Namespace, Name: o.Name}] = event.ReportedObject{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
		}
	}
	return func(_ event.Target, yield func(event.ReportedObject)) (bool, error) {
		for _, o := range reported {
			yield(o)
		}
		return complete, nil
	}
}

// firstRun creates four ConfigMaps, watches them, and then changes all but one.
func firstRun(t *testing.T) (*sandbox, []event.Event) {
	t.Helper()
	r := newSandbox(t, cluster)
	for _, name := range []string{"changed", "deleted", "recreated", "same"} {
		r.create(name)
	}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	r.update("changed", 1)
	r.delete("deleted")
	r.delete("recreated")
	r.create("recreated")
	r.create("new")
	return r, w.events
}

// sinceFirstRun are the events of a run that resumes firstRun.
var sinceFirstRun = []string{
	"MODIFIED changed=1",
	"ADDED new=0",
	"DELETED unknown recreated", "ADDED recreated=0",
	"DELETED unknown deleted",
	"SYNCED",
}

// TestHistory checks that only the differences from an earlier run are reported.
func TestHistory(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	for _, keep := range []bool{false, true} {
		w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}, History: historyOf(true, before...), KeepContent: keep})
		w.await("SYNCED", 1)
		w.stop()
		if diff := cmp.Diff(sinceFirstRun, w.lines()); diff != "" {
			t.Errorf("keep content %t: %s", keep, diff)
		}
		for _, e := range w.events {
			checkIdentity(t, e, before)
		}
	}
}

// checkIdentity checks that a deletion that was detected later identifies the object.
func checkIdentity(t *testing.T, e event.Event, before []event.Event) {
	t.Helper()
	if e.Type != event.Deleted {
		return
	}
	for _, b := range before {
		if b.Object.IsZero() || b.Object.Name != e.Object.Name {
			continue
		}
		o := e.Object
		if o.UID != b.Object.UID || o.ResourceVersion != b.Object.ResourceVersion ||
			o.Namespace != b.Object.Namespace || o.GroupVersionKind() != b.Object.GroupVersionKind() {
			t.Errorf("got %s, want the identity that was reported", o.Raw())
		}
		return
	}
	t.Errorf("deleted, but never reported: %s", e.Object.Raw())
}

// TestHistoryWithLists is TestHistory with a server that does not stream initial events.
func TestHistoryWithLists(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	f, config := newFaults(t, cluster)
	f.set(func(req *http.Request) *http.Response {
		if req.URL.Query().Get("sendInitialEvents") == "" {
			return nil
		}
		return respond(http.StatusUnprocessableEntity, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Invalid","code":422}`)
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, History: historyOf(true, before...)})
	w.await("SYNCED", 1)
	w.stop()
	if diff := cmp.Diff(sinceFirstRun, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryIncomplete checks that, if an earlier run ended before it had reported all initial
// objects, the others still count as initial.
func TestHistoryIncomplete(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	var some []event.Event
	for _, e := range before {
		if !e.Type.IsStatus() && e.Object.Name == "changed" {
			some = append(some, e)
		}
	}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}, History: historyOf(false, some...)})
	w.await("SYNCED", 1)
	w.stop()
	want := []string{"MODIFIED changed=1", "ADDED initial new=0", "ADDED initial recreated=0", "ADDED initial same=0", "SYNCED"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryCutInSync checks that objects are not reported as deleted because an incomplete list
// did not contain them.
func TestHistoryCutInSync(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	f, config := newFaults(t, cluster)
	var once sync.Once
	f.set(func(req *http.Request) *http.Response {
		var response *http.Response
		once.Do(func() {
			changed, err := r.configMaps().Get(req.Context(), "changed", metav1.GetOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			raw, _ := changed.MarshalJSON()
			response = respond(http.StatusOK, `{"type":"ADDED","object":`+strings.TrimSpace(string(raw))+"}\n")
		})
		return response
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, History: historyOf(true, before...)})
	w.await("SYNCED", 1)
	w.stop()
	want := append([]string{"MODIFIED changed=1", "DISCONNECTED"}, sinceFirstRun[1:]...)
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryOfRestoredServer checks that an object is reported although its resourceVersion is
// older than the one that the earlier run reported, because etcd was restored from a backup.
func TestHistoryOfRestoredServer(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	for i, e := range before {
		if e.Type.IsStatus() || e.Object.Name != "same" {
			continue
		}
		id := *e.Object.Identity
		id.ResourceVersion = "9" + id.ResourceVersion
		before[i].Object = event.NewObject(&id, "")
	}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}, History: historyOf(true, before...)})
	w.await("MODIFIED same=0", 1)
	w.stop()
}

// TestHistoryDenied checks that a permission that is missing at the start does not affect the
// history of the objects.
func TestHistoryDenied(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	f, config := newFaults(t, cluster)
	f.set(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "configmaps") {
			return respond(http.StatusForbidden, forbidden)
		}
		return nil
	})
	ofConfigMaps := historyOf(true, before...)
	w := watchWith(t, Options{
		Config:  config,
		Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}},
		History: func(target event.Target, yield func(event.ReportedObject)) (bool, error) {
			if target.Mapping == secrets {
				return false, nil
			}
			return ofConfigMaps(target, yield)
		},
	})
	w.await("DENIED", 1)
	w.await("SYNCED", 1)
	f.set(nil)
	w.await("SYNCED", 2)
	w.stop()
	lines := w.lines()
	if diff := cmp.Diff(sinceFirstRun, lines[len(lines)-len(sinceFirstRun):]); diff != "" {
		t.Error(diff)
	}
	if len(lines) != len(sinceFirstRun)+2 {
		t.Errorf("unexpected lines: %q", lines)
	}
}

// TestHistoryError checks that Run fails if the history can't be read.
func TestHistoryError(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	unreadable := errors.New("unreadable")
	w := newWatcher(t, Options{
		Config: r.config, Targets: []event.Target{r.target()},
		History: func(event.Target, func(event.ReportedObject)) (bool, error) { return false, unreadable },
	})
	err := w.Run(t.Context(), each(func(event.Event) error { return fmt.Errorf("unexpected event") }))
	if !errors.Is(err, unreadable) {
		t.Error(err)
	}
}

// TestHistoryUnconfirmed checks that events that an earlier run may not have delivered are reported
// again, deletions first.
func TestHistoryUnconfirmed(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	r.create("added")
	r.create("recreated")
	r.create("other")
	existing := map[string]event.Object{}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	w.stop()
	for _, e := range w.events {
		if !e.Type.IsStatus() {
			existing[e.Object.Name] = e.Object
		}
	}
	reported := func(name string, unconfirmed bool, uid types.UID) event.ReportedObject {
		o := event.ReportedObject{Namespace: r.namespace, Name: name, UID: uid, ResourceVersion: "1", Unconfirmed: unconfirmed}
		if current := existing[name]; uid == "" {
			o.UID, o.ResourceVersion = current.UID, current.ResourceVersion
		}
		return o
	}
	w = watchWith(t, Options{
		Config: r.config, Targets: []event.Target{r.target()},
		History: func(_ event.Target, yield func(event.ReportedObject)) (bool, error) {
			for _, o := range []event.ReportedObject{
				reported("added", true, ""),
				reported("other", true, "before"),
				reported("recreated", true, "before"), reported("recreated", true, ""),
				reported("vanished", true, "one"),
				reported("vanished-twice", true, "one"), reported("vanished-twice", true, "two"),
			} {
				yield(o)
			}
			return true, nil
		},
	})
	w.await("SYNCED", 1)
	w.stop()
	want := []string{
		"DELETED unknown recreated before", "DELETED unknown vanished-twice one",
		"ADDED added", "DELETED unknown other before", "ADDED other", "ADDED recreated",
		"DELETED unknown vanished one", "DELETED unknown vanished-twice two", "SYNCED",
	}
	var got []string
	for i, line := range w.lines() {
		line, _, _ = strings.Cut(line, "=")
		if e := w.events[i]; e.Type == event.Deleted {
			line += " " + string(e.Object.UID)
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
