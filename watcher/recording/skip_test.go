package recording

import (
	"context"
	"errors"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// TestSkipSegments checks that segments without events of the requested targets are not read.
func TestSkipSegments(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	other := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true)}
	deliver(t, r, event.Event{Type: event.Synced, Target: other, Time: at(3)})
	for second := 10; second < 60; second += 10 {
		deliver(t, r, of(t, event.Modified, "web", second, second))
		if err := r.current.close(r.coverage.states()); err != nil {
			t.Fatal(err)
		}
		r.coverage.segmentEnded = true
		if err := r.beginSegment(at(second+1), false); err != nil {
			t.Fatal(err)
		}
	}
	last := proven(60)
	last.Target = other
	deliver(t, r, proven(60), last)
	recording := read(t, dir)
	files, _, err := list(dir)
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	for _, f := range files[1:5] {
		if err := errors.Join(os.Remove(f.path), os.Mkdir(f.path, 0o700)); err != nil { // now reading the segment fails
			t.Fatal(err)
		}
	}
	if _, proof := played(t, recording, Query{Targets: []event.Target{other}, From: at(5), To: at(59)}); !proof.IsComplete() {
		t.Errorf("query without events in the unreadable segments: got gaps %v, want none", gaps(proof))
	}
	if _, err := recording.Replay(t.Context(), Query{Targets: []event.Target{configMaps}, From: at(5), To: at(59)}, event.SinkFunc(func(context.Context, []event.Event) error { return nil })); err == nil {
		t.Error("query with events in the unreadable segments: got no error")
	}
}

// TestMissingMessage checks that DISCONNECTED and DENIED events always have an error, even if their line has no message.
func TestMissingMessage(t *testing.T) {
	r := newReader()
	r.byResource["configmaps"] = configMaps.Mapping
	for _, of := range []event.Type{event.Disconnected, event.Denied} {
		l, err := r.read(`{"type":"` + string(of) + `","time":"2026-01-31T02:00:00Z","resource":"configmaps"}`)
		if err != nil || l.Err == nil {
			t.Errorf("%s: got Err %v, %v, want an Err", of, l.Err, err)
		}
	}
}
