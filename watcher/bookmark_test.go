package watcher

import (
	"fmt"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// TestBookmarks: before each bookmark all is reported that had happened by the time that it says:
// also where connections are lost, and where nothing happens for so long that none would come.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target(), {Mapping: secrets, Namespace: r.namespace}}, Request: source.Request{Bookmarks: true, MinWatchTimeout: 12 * time.Second}})
	w.await("SYNCED", 2)
	done := map[string]time.Time{"ADDED initial a=0": time.Now()}
	w.proven(r.target().Key(), time.Now())
	w.proven(event.Target{Mapping: secrets, Namespace: r.namespace}.Key(), time.Now())
	for n := range 40 {
		if n%10 == 5 {
			f.cut()
		}
		r.update("a", n+1)
		done[fmt.Sprint("MODIFIED a=", n+1)] = time.Now()
	}
	w.proven(r.target().Key(), time.Now())
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	lines := w.lines()
	for line, at := range done {
		seen := false
		for i, e := range w.events {
			seen = seen || lines[i] == line
			if e.Type == event.Bookmark && e.Target == r.target() && !seen && e.Heard.After(at) {
				t.Errorf("%s at %s comes after a bookmark of %s", line, at, e.Heard)
			}
		}
	}
}

// TestStoodStill: when a connection stood still, and went on without a loss, what came late is said to
// have, before anything after it is said to be known.
func TestStoodStill(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{Bookmarks: true, MinWatchTimeout: 30 * time.Second}})
	w.await("SYNCED", 1)
	w.proven(r.target().Key(), time.Now())
	release := f.hold()
	r.update("a", 1)
	changed := time.Now()
	for time.Since(changed) < event.ProbeInterval+2*event.ProbeTimeout { // one was asked after the change, and seconds ago
		f.awaitRequests(f.count() + 1)
	}
	release()
	released := time.Now()
	w.proven(r.target().Key(), released)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	for _, e := range w.events {
		switch {
		case e.Type == event.Disconnected:
			return // that was noticed
		case e.Type != event.Bookmark:
		case e.Heard.IsZero():
			return
		case e.Heard.After(changed):
			t.Fatalf("at %s it says that all is known up to %s, of what changed at %s and came at %s", e.Time, e.Heard, changed, released)
		}
	}
	t.Error("nothing is said of it")
}

// proven returns when all that happened to a target by a time has been reported.
func (w *watching) proven(of event.Key, at time.Time) {
	w.t.Helper()
	for n := 1; ; n++ {
		w.await("BOOKMARK", n)
		w.mu.Lock()
		for _, e := range w.events {
			if e.Type == event.Bookmark && e.Target.Key() == of && !e.Heard.Before(at) {
				w.mu.Unlock()
				return
			}
		}
		w.mu.Unlock()
	}
}
