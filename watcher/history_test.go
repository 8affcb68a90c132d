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

// past is what events have reported, as a Past.
func past(complete bool, events ...event.Event) event.HistoryFunc {
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
	return func(_ event.Target, take func(event.ReportedObject)) (bool, error) {
		for _, o := range reported {
			take(o)
		}
		return complete, nil
	}
}

// firstRun makes four ConfigMaps, reports them, and then changes all but one.
func firstRun(t *testing.T) (*room, []event.Event) {
	t.Helper()
	r := newRoom(t, cluster)
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

// sinceFirstRun is what has happened since firstRun, as a later sync finds it.
var sinceFirstRun = []string{
	"MODIFIED changed=1",
	"ADDED new=0",
	"DELETED unknown recreated", "ADDED recreated=0",
	"DELETED unknown deleted",
	"SYNCED",
}

// TestPast: only what is different from what an earlier run reported is reported.
func TestPast(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	for _, keep := range []bool{false, true} {
		w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}, History: past(true, before...), KeepContent: keep})
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

// checkIdentity: a deletion found out later says which object it was.
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
			t.Errorf("%s", o.Raw())
		}
		return
	}
	t.Errorf("never reported: %s", e.Object.Raw())
}

// TestPastOfLists: the same from a server that streams no initial events.
func TestPastOfLists(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	f, config := newFaults(t, cluster)
	f.set(func(req *http.Request) *http.Response {
		if req.URL.Query().Get("sendInitialEvents") == "" {
			return nil
		}
		return respond(http.StatusUnprocessableEntity, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Invalid","code":422}`)
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, History: past(true, before...)})
	w.await("SYNCED", 1)
	w.stop()
	if diff := cmp.Diff(sinceFirstRun, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestPastIncomplete: an earlier run ended before all that existed at its start
// was reported. The rest still is what existed at the start.
func TestPastIncomplete(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	var some []event.Event
	for _, e := range before {
		if !e.Type.IsStatus() && e.Object.Name == "changed" {
			some = append(some, e)
		}
	}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}, History: past(false, some...)})
	w.await("SYNCED", 1)
	w.stop()
	want := []string{"MODIFIED changed=1", "ADDED initial new=0", "ADDED initial recreated=0", "ADDED initial same=0", "SYNCED"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestPastCutInSync: while the first sync is not complete, what it has not named
// yet is not reported as deleted.
func TestPastCutInSync(t *testing.T) {
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
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, History: past(true, before...)})
	w.await("SYNCED", 1)
	w.stop()
	want := append([]string{"MODIFIED changed=1", "DISCONNECTED"}, sinceFirstRun[1:]...)
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestPastOfAnotherHistory: etcd was restored from a backup meanwhile. What is
// listed as present is reported, though it is older.
func TestPastOfAnotherHistory(t *testing.T) {
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
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}, History: past(true, before...)})
	w.await("MODIFIED same=0", 1)
	w.stop()
}

// TestPastDenied: a right that is missing at the start says nothing about the
// objects.
func TestPastDenied(t *testing.T) {
	t.Parallel()
	r, before := firstRun(t)
	f, config := newFaults(t, cluster)
	f.set(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "configmaps") {
			return respond(http.StatusForbidden, forbidden)
		}
		return nil
	})
	ofConfigMaps := past(true, before...)
	w := watchWith(t, Options{
		Config:  config,
		Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}},
		History: func(target event.Target, take func(event.ReportedObject)) (bool, error) {
			if target.Mapping == secrets {
				return false, nil
			}
			return ofConfigMaps(target, take)
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
		t.Errorf("%q", lines)
	}
}

// TestPastError: what is not known must not be taken for nothing.
func TestPastError(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	unreadable := errors.New("unreadable")
	w := newWatcher(t, Options{
		Config: r.config, Targets: []event.Target{r.target()},
		History: func(event.Target, func(event.ReportedObject)) (bool, error) { return false, unreadable },
	})
	err := w.Run(t.Context(), each(func(event.Event) error { return fmt.Errorf("it reports something") }))
	if !errors.Is(err, unreadable) {
		t.Error(err)
	}
}

// TestPastUnsure: an earlier run was killed while it reported what it had found. What
// the reader may not have got is reported again, deletions first.
func TestPastUnsure(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	r.create("added")
	r.create("recreated")
	r.create("other")
	there := map[string]event.Object{}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	w.stop()
	for _, e := range w.events {
		if !e.Type.IsStatus() {
			there[e.Object.Name] = e.Object
		}
	}
	said := func(name string, unsure bool, uid types.UID) event.ReportedObject {
		reported := event.ReportedObject{Namespace: r.namespace, Name: name, UID: uid, ResourceVersion: "1", Unconfirmed: unsure}
		if o := there[name]; uid == "" {
			reported.UID, reported.ResourceVersion = o.UID, o.ResourceVersion
		}
		return reported
	}
	w = watchWith(t, Options{
		Config: r.config, Targets: []event.Target{r.target()},
		History: func(_ event.Target, take func(event.ReportedObject)) (bool, error) {
			for _, o := range []event.ReportedObject{
				said("added", true, ""),
				said("other", true, "before"),
				said("recreated", true, "before"), said("recreated", true, ""),
				said("vanished", true, "one"),
				said("vanished-twice", true, "one"), said("vanished-twice", true, "two"),
			} {
				take(o)
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
