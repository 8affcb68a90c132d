package recording

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// TestWatchHasNoHistory checks that with WatchHasNoHistory, a run records only what has changed since the previous run, although
// its watch lists all objects.
func TestWatchHasNoHistory(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	initial := func(name string, version, second int) event.Event {
		e := of(t, event.Added, name, version, second)
		e.Initial, e.Listed = true, true
		return e
	}
	deliver(t, r, initial("same", 1, 1), initial("changed", 1, 1), initial("gone", 1, 1), initial("returned", 1, 1), statusEvent(event.Synced, 2))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	next := recorder(t, dir, Options{WatchHasNoHistory: true, Now: func() time.Time { return at(20) }})
	returned := initial("returned", 5, 21)
	id := *returned.Object.Identity
	id.UID = "another"
	returned.Object = event.NewObject(&id, returned.Object.Raw())
	deliver(t, next, initial("same", 1, 21), initial("changed", 4, 21), initial("new", 3, 21), returned, statusEvent(event.Synced, 22))
	deliver(t, next, of(t, event.Modified, "same", 6, 30), of(t, event.Deleted, "changed", 4, 31))
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	proof, err := read(t, dir).Replay(t.Context(), Query{Targets: []event.Target{configMaps}, From: at(10)}, event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			if !e.Type.IsStatus() && !e.Initial {
				text := string(e.Type) + " " + e.Object.Name + " " + e.Object.ResourceVersion
				if e.FinalStateUnknown {
					text += " unknown"
				}
				got = append(got, text)
			}
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"MODIFIED changed 4", "ADDED new 3", "DELETED returned 1 unknown", "ADDED returned 5", "DELETED gone 1 unknown", "MODIFIED same 6", "DELETED changed 4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if why := gaps(proof); len(why) != 1 || !slices.ContainsFunc(why, func(g string) bool { return strings.Contains(g, reasonNotRunning) }) {
		t.Errorf("got gaps %q, want one because of %q", why, reasonNotRunning)
	}
}

// TestReportDelay checks that a long delay of other destinations makes the times of the next events unreliable, and that the
// Recorder then asks how far the watches lag behind.
func TestReportDelay(t *testing.T) {
	dir := t.TempDir()
	probes := 0
	r := begunRun(t, dir)
	r.ProbeFreshness = func() { probes++ }
	r.ReportDelay(delayThreshold / 2)
	if probes != 0 {
		t.Errorf("short delay: got %d probes, want none", probes)
	}
	r.ReportDelay(2 * delayThreshold)
	deliver(t, r, of(t, event.Modified, "web", 2, 12))
	if probes != 1 || isKnown(t, dir, 12) || !isKnown(t, dir, 2) {
		t.Errorf("long delay: got %d probes, want 1; known at 12: %t, want false; known at 2: %t, want true", probes, isKnown(t, dir, 12), isKnown(t, dir, 2))
	}
}
