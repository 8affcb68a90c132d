package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/testdata/object"
	"dwatch/watcher/event"
)

// begunRun starts a run whose target is covered from second 2 on.
func begunRun(t testing.TB, dir string) *testRun {
	r := recorder(t, dir, Options{})
	first := of(t, event.Added, "web", 1, 1)
	first.Initial = true
	deliver(t, r, first, statusEvent(event.Synced, 2))
	return r
}

// isComplete reports whether the events between two times are completely known.
func isComplete(t testing.TB, dir string, from, to int) bool {
	t.Helper()
	_, proof := played(t, read(t, dir), Query{From: at(from), To: at(to)})
	return proof.IsComplete()
}

// isKnown reports whether the objects at a time are completely known.
func isKnown(t testing.TB, dir string, second int) bool {
	t.Helper()
	_, proof, err := read(t, dir).ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, at(second))
	if err != nil {
		t.Fatal(err)
	}
	return proof.IsComplete()
}

// TestAtRelist checks that the objects are known at the exact time of a relist.
func TestAtRelist(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	listed := of(t, event.Modified, "web", 2, 10)
	listed.Listed = true
	deliver(t, r, listed, statusEvent(event.Gap, 10))
	objects, proof, err := read(t, dir).ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, time.Time{})
	if err != nil || !proof.IsComplete() || !proof.To.Equal(at(10)) || len(objects) != 1 || objects[0].ResourceVersion != "2" {
		t.Errorf("got objects %v, proof %+v, %v, want a complete proof for version 2 at 10", objects, proof, err)
	}
}

// TestNothingMissed checks that a lost connection is no gap if the watch resumes and there were no events in between.
func TestNothingMissed(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, statusEvent(event.Disconnected, 105))
	deliver(t, r, statusEvent(event.Reconnected, 150), bookmark(at(100), at(160)))
	if isKnown(t, dir, 120) || !isKnown(t, dir, 99) {
		t.Error("after a bookmark that confirms a time before the loss: want known at 99 and a gap at 120")
	}
	deliver(t, r, bookmark(at(149), at(161)))
	if !isKnown(t, dir, 120) || !isKnown(t, dir, 149) || isKnown(t, dir, 155) || !isComplete(t, dir, 10, 149) {
		t.Error("after a bookmark that confirms a time before the reconnect: want known up to 149")
	}
	deliver(t, r, bookmark(at(162), at(165)))
	deliver(t, r, of(t, event.Modified, "web", 2, 170))
	if !isComplete(t, dir, 10, 170) {
		t.Error("the coverage does not continue after the loss")
	}
}

// TestLaggingWatch checks that a resumed watch counts as caught up only if the server confirms a time after the latest event,
// or a very recent time.
func TestLaggingWatch(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, statusEvent(event.Disconnected, 9))
	deliver(t, r, statusEvent(event.Reconnected, 50), of(t, event.Modified, "web", 2, 51), bookmark(at(49), at(51)))
	deliver(t, r, of(t, event.Modified, "web", 3, 52))
	if isKnown(t, dir, 51) || isKnown(t, dir, 52) {
		t.Error("objects count as known while the watch may lag behind")
	}
	deliver(t, r, bookmark(at(52), at(55)))
	if isKnown(t, dir, 51) || !isKnown(t, dir, 52) || isKnown(t, dir, 54) {
		t.Error("after a confirmation of the latest event: want known at 52, and not at 51 or 54")
	}
	deliver(t, r, statusEvent(event.Disconnected, 60))
	deliver(t, r, statusEvent(event.Reconnected, 70), of(t, event.Modified, "web", 4, 71), bookmark(at(70), at(71)), of(t, event.Modified, "web", 5, 75))
	if isKnown(t, dir, 70) || !isKnown(t, dir, 71) || !isKnown(t, dir, 74) {
		t.Error("a watch that lags behind by a second does not count as caught up")
	}
}

// TestSlowList checks that the objects of a slow list are not known at its end, because the events since its start have not
// been reported yet.
func TestSlowList(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	if err := r.Deliver(t.Context(), []event.Event{{Type: event.Synced, Target: configMaps, Time: at(9)}, bookmark(at(1), at(9))}); err != nil {
		t.Fatal(err)
	}
	if isKnown(t, dir, 9) {
		t.Error("objects count as known at the end of the list")
	}
	r.now = at(12)
	r.tick()
	if err := r.Deliver(t.Context(), []event.Event{bookmark(at(10), at(12))}); err != nil {
		t.Fatal(err)
	}
	if !isKnown(t, dir, 9) || !isKnown(t, dir, 10) || isKnown(t, dir, 8) {
		t.Error("after a bookmark that confirms 10, without events: want known at 9 and 10, and not at 8")
	}
}

// TestSuspended checks that the times of events are unknown while the recorder was suspended.
func TestSuspended(t *testing.T) {
	for _, seconds := range []int{3, 14, 300} {
		dir := t.TempDir()
		r := begunRun(t, dir)
		deliver(t, r, proven(30))
		awake := 30 + seconds
		r.now, r.lost, r.suspended = at(awake), true, true
		probes := 0
		r.ProbeFreshness = func() { probes++ }
		deliver(t, r, bookmark(at(20), at(awake+1)), of(t, event.Modified, "web", 2, awake+2))
		if probes != 1 {
			t.Errorf("suspended for %d s: got %d probes, want 1", seconds, probes)
		}
		deliver(t, r, proven(awake+3))
		r.lost = false
		deliver(t, r, proven(awake+70))
		for second, want := range map[int]bool{20: true, 30: true, 30 + seconds/2: false, awake - 1: false, awake + 1: false, awake + 2: true, awake + 60: true} {
			if got := isKnown(t, dir, second); got != want {
				t.Errorf("suspended for %d s: known at %d: %t, want %t", seconds, second, got, want)
			}
		}
		if isComplete(t, dir, 10, 30+seconds/2) || !isComplete(t, dir, 10, awake+60) {
			t.Errorf("suspended for %d s: want complete events up to %d, and not up to a time within the suspension", seconds, awake+60)
		}
	}
}

// TestSuspensionIsReportedOnce checks that a late look at the clock counts as a suspension, which take returns once.
func TestSuspensionIsReportedOnce(t *testing.T) {
	var m clockMonitor
	m.observe(at(0))
	check := func(now int, want time.Time) {
		t.Helper()
		if since, step := m.take(at(now)); !since.Equal(want) || !step.isZero() {
			t.Errorf("at %d: suspended since %v, want %v; step %v", now, since, want, step)
		}
	}
	check(1, time.Time{})
	m.observe(at(4)) // late, without a delivery
	m.observe(at(5))
	check(6, at(1))
	check(7, time.Time{})
	m.observe(at(3)) // the clock was put back
	check(4, time.Time{})
}

// TestClockStep checks that the monitor finds a wall clock that was put back, by comparison with the monotonic clock, and
// returns all times that may have been shown twice.
func TestClockStep(t *testing.T) {
	var offset time.Duration
	m := clockMonitor{readOffset: func() time.Duration { return offset }}
	m.observe(at(0))
	millis := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	offset -= 300 * time.Millisecond
	m.observe(millis(700))
	offset -= 200 * time.Millisecond
	m.observe(millis(1500))
	if _, step := m.take(millis(1600)); !step.from.Equal(millis(-300)) || !step.to.Equal(millis(1700)) {
		t.Errorf("got %v to %v", step.from.Sub(start), step.to.Sub(start))
	}
	offset += time.Second // it was put forward
	if _, step := m.take(millis(2600)); !step.isZero() {
		t.Errorf("got %v to %v, want none", step.from.Sub(start), step.to.Sub(start))
	}
	offset -= stepTolerance
	if _, step := m.take(millis(2700)); !step.isZero() {
		t.Errorf("difference within the tolerance: got %v to %v, want none", step.from.Sub(start), step.to.Sub(start))
	}
}

// TestSmallClockStep puts the clock back by half a second. The objects must not be known at times that the clock showed twice,
// and must be known again soon after.
func TestSmallClockStep(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	var offset time.Duration
	r.clock.readOffset = func() time.Duration { return offset }
	half := func(e event.Event) event.Event {
		e.Time = e.Time.Add(500 * time.Millisecond)
		return e
	}
	deliver(t, r, of(t, event.Modified, "web", 2, 30), half(of(t, event.Added, "old", 3, 30)))
	offset -= 500 * time.Millisecond // the clock shows 30.1 again
	r.now = at(30).Add(100 * time.Millisecond)
	again := of(t, event.Modified, "web", 4, 30)
	again.Target, again.Time = configMaps, at(30).Add(200*time.Millisecond)
	if err := r.Deliver(t.Context(), []event.Event{again}); err != nil {
		t.Fatal(err)
	}
	deliver(t, r, proven(32))
	deliver(t, r, proven(60))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, millis := range []int{30_050, 30_300, 30_550} {
		when := start.Add(time.Duration(millis) * time.Millisecond)
		if _, proof, err := read(t, dir).ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, when); err != nil || proof.IsComplete() {
			t.Errorf("at %d ms: complete %t, %v, want a gap", millis, proof.IsComplete(), err)
		}
	}
	for _, second := range []int{20, 29, 33, 50} {
		if !isKnown(t, dir, second) {
			t.Errorf("at %d s: not known, want known", second)
		}
	}
}

// TestNotYetDefined checks that a resource counts as covered while its definition did not exist, and that the definition
// covers no other times.
func TestNotYetDefined(t *testing.T) {
	definitions := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: definitionKey.Resource.Group, Version: "v1", Resource: definitionKey.Resource.Resource}, "CustomResourceDefinition", false)}
	databases := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "databases"}, "Database", true)}
	metrics := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1", Resource: "pods"}, "PodMetrics", true)}
	definition := object.Parse(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"databases.example.com","resourceVersion":"5","uid":"d"}}`)
	database := object.Parse(t, `{"apiVersion":"example.com/v1","kind":"Database","metadata":{"name":"db","namespace":"a","resourceVersion":"9","uid":"db"}}`)
	bookmarkOf := func(target event.Target, second int) event.Event {
		return event.Event{Type: event.Bookmark, Target: target, Heard: at(second), Time: at(second)}
	}
	for _, rotates := range []bool{false, true} {
		dir := t.TempDir()
		r := recorder(t, dir, Options{})
		status := func(kind event.Type, target event.Target, second int) event.Event {
			return event.Event{Type: kind, Target: target, Time: at(second)}
		}
		rotate := func() {
			if !rotates {
				return
			}
			if err := errors.Join(r.current.close(r.coverage.states()), r.beginSegment(r.now, false)); err != nil {
				t.Fatal(err)
			}
		}
		confirm := func(second int, targets ...event.Target) {
			var all []event.Event
			for _, target := range targets {
				all = append(all, bookmarkOf(target, second))
			}
			deliver(t, r, all...)
		}
		deliver(t, r, status(event.Synced, configMaps, 1), status(event.Synced, definitions, 1))
		for second := 10; second <= 100; second += 10 {
			confirm(second, configMaps, definitions)
		}
		rotate()
		deliver(t, r, event.Event{Type: event.Added, Target: definitions, Object: definition, Time: at(105)})
		deliver(t, r, status(event.Arrived, databases, 107), status(event.Arrived, metrics, 107))
		deliver(t, r, event.Event{Type: event.Added, Target: databases, Object: database, Listed: true, Time: at(108)}, status(event.Synced, databases, 108), status(event.Synced, metrics, 108))
		for second := 110; second <= 200; second += 10 {
			confirm(second, definitions, databases, metrics)
		}
		rotate()
		for second := 210; second <= 300; second += 10 {
			confirm(second, definitions, databases, metrics)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		check := func(want bool, from, to int, targets ...event.Target) {
			t.Helper()
			q := Query{Targets: targets, From: at(from), To: at(to)}
			_, proof := played(t, read(t, dir), q)
			objects, atProof, err := read(t, dir).ObjectsAt(t.Context(), q, at(to))
			if err != nil {
				t.Fatal(err)
			}
			if proof.IsComplete() != want || atProof.IsComplete() != want && from == to-1 {
				t.Errorf("several segments %t, %d to %d: complete %t, want %t; gaps %v, at the end %v with %d objects", rotates, from, to, proof.IsComplete(), want, gaps(proof), gaps(atProof), len(objects))
			}
		}
		check(true, 20, 60, databases)
		check(true, 20, 90, configMaps, databases, definitions)
		check(true, 59, 60, databases)
		check(false, 106, 107, databases) // defined, and not watched yet
		check(false, 20, 150, databases)
		check(true, 120, 150, databases)
		check(true, 120, 290, databases)
		check(false, 20, 60, metrics) // served by an API server without a definition
		check(false, 59, 60, metrics)
		_, proof := played(t, read(t, dir), Query{Targets: []event.Target{databases}})
		if want := []string{"not known: 105 to 108 ("}; len(proof.Gaps) != 1 || !strings.HasPrefix(gaps(proof)[0], want[0]) {
			t.Errorf("got %q, want %q", gaps(proof), want)
		}
	}
}

// TestConfirmCoverage checks that ConfirmCoverage waits until the server has confirmed all events up to its call.
func TestConfirmCoverage(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, proven(200))
	r.now = at(205)
	r.tick()
	probed := make(chan struct{})
	r.ProbeFreshness = func() { close(probed) }
	returned := make(chan struct{})
	go func() {
		r.ConfirmCoverage(t.Context())
		close(returned)
	}()
	<-probed
	if err := r.Deliver(t.Context(), []event.Event{bookmark(at(204), at(205))}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-returned:
		t.Error("ConfirmCoverage returned before the server had confirmed all events up to the end")
	default:
	}
	if err := r.Deliver(t.Context(), []event.Event{bookmark(at(205), at(205))}); err != nil {
		t.Fatal(err)
	}
	<-returned
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, proof := played(t, read(t, dir), Query{}); !proof.IsComplete() || !proof.To.Equal(at(205)) {
		t.Errorf("got a proof up to %s with gaps %v, want one up to 3m25s without gaps", proof.To.Sub(start), gaps(proof))
	}
}

// TestDelayedDelivery checks that the times of events after a slow delivery are unknown.
func TestDelayedDelivery(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	r.Recorder.delayed = true
	deliver(t, r, of(t, event.Modified, "web", 2, 12))
	if isKnown(t, dir, 12) || !isKnown(t, dir, 2) {
		t.Error("want known at 2, and not at 12 after the delay")
	}
}

// TestSilentWatch checks that heartbeats of the recorder do not extend the coverage if the watch receives nothing.
func TestSilentWatch(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, proven(30))
	r.lost = true // without a DISCONNECTED event
	deliver(t, r, statusEvent(event.Heartbeat, 100))
	r.release() // as a kill does
	if isKnown(t, dir, 60) || !isKnown(t, dir, 30) {
		t.Error("want known at 30, and not at 60 without a confirmation")
	}
	next := recorder(t, dir, Options{Now: func() time.Time { return at(200) }})
	deliver(t, next, statusEvent(event.Synced, 201))
	if isComplete(t, dir, 20, 100) || isKnown(t, dir, 60) {
		t.Error("the next run extends the coverage of the silent watch")
	}
}

// TestStalled checks that the time of events after a stalled connection is unknown, although no loss was noticed. The target is
// covered again once the server confirms a later time.
func TestStalled(t *testing.T) {
	for _, confirms := range []bool{true, false} {
		dir := t.TempDir()
		r := begunRun(t, dir)
		deliver(t, r, proven(30))
		r.lost = true
		deliver(t, r, statusEvent(event.Heartbeat, 53))
		late := []event.Event{of(t, event.Modified, "web", 2, 53)}
		if !confirms { // the bookmark only confirms a time before the stall
			late = append(late, bookmark(at(30), at(54)))
		}
		deliver(t, r, late...)
		if isKnown(t, dir, 40) || isKnown(t, dir, 53) || isComplete(t, dir, 10, 45) || !isKnown(t, dir, 30) {
			t.Error("before a confirmation: want known at 30, and not at 40 or 53")
		}
		if confirms {
			deliver(t, r, bookmark(time.Time{}, at(54)), bookmark(at(32), at(54)))
			deliver(t, r, proven(55))
			if isKnown(t, dir, 40) || !isKnown(t, dir, 54) || isComplete(t, dir, 10, 45) || !isComplete(t, dir, 10, 55) {
				t.Error("after a confirmation: want known at 54, and a gap during the stall")
			}
		}
	}
}

// TestConfirmationGrace checks that an event shortly after a confirmation extends the coverage, unless the next confirmation
// shows that the event was late.
func TestConfirmationGrace(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, proven(30))
	r.lost = true
	deliver(t, r, of(t, event.Modified, "web", 2, 36))
	if !isKnown(t, dir, 36) || isKnown(t, dir, 37) {
		t.Error("after an event 6 s after the confirmation: want known up to the event")
	}
	deliver(t, r, bookmark(time.Time{}, at(37)))
	if isKnown(t, dir, 36) || isKnown(t, dir, 31) || !isKnown(t, dir, 30) {
		t.Error("after a bookmark that reports late events: want known only up to the previous confirmation")
	}
	deliver(t, r, proven(38))
	if !isKnown(t, dir, 36) || isKnown(t, dir, 35) || !isKnown(t, dir, 38) {
		t.Error("after the next confirmation: want known since the event")
	}
}

// TestLossNoticedLate checks that a query finds a lost connection that is recorded after the requested time, in a later segment.
func TestLossNoticedLate(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	r.lost = true
	deliver(t, r, statusEvent(event.Heartbeat, 390))
	if err := r.current.close(r.coverage.states()); err != nil {
		t.Fatal(err)
	}
	r.coverage.segmentEnded = true
	if err := r.beginSegment(at(391), false); err != nil {
		t.Fatal(err)
	}
	lost := statusEvent(event.Disconnected, 392)
	lost.Heard = at(2)
	deliver(t, r, lost)
	if isComplete(t, dir, 10, 60) || isKnown(t, dir, 60) {
		t.Error("10 to 60 is complete although nothing was heard since 2")
	}
}

// TestWithoutEnd checks that a truncated segment is a gap, even though the next segment continues it.
func TestWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 100))
	if err := r.current.close(r.coverage.states()); err != nil {
		t.Fatal(err)
	}
	r.coverage.segmentEnded = true
	if err := r.beginSegment(at(101), false); err != nil {
		t.Fatal(err)
	}
	deliver(t, r, of(t, event.Modified, "web", 3, 120))
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(files[0].path)
	if err != nil {
		t.Fatal(err)
	}
	if !isComplete(t, dir, 10, 110) {
		t.Error("the recording has gaps before it is truncated")
	}
	for size := 60; size < len(whole); size += 7 {
		if err := os.WriteFile(files[0].path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if isComplete(t, dir, 10, 110) {
			t.Fatalf("truncated to %d bytes: 10 to 110 is complete", size)
		}
		if _, proof := played(t, read(t, dir), Query{}); proof.IsComplete() && proof.From.Before(at(101)) {
			t.Fatalf("truncated to %d bytes: the whole recording is complete", size)
		}
	}
}

// TestKilledAtBegin truncates the last segment at many offsets, as if the run had been killed while it wrote the existing objects.
// Readers must report the gap, and the next run must continue from the previous segment.
func TestKilledAtBegin(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Added, "db", 2, 5), of(t, event.Added, "cache", 3, 6))
	r.release()
	next := recorder(t, dir, Options{Now: func() time.Time { return at(60) }})
	next.release()
	files, _, err := list(dir)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[1].path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < len(whole); size += 11 {
		if err := os.WriteFile(files[1].path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if isKnown(t, dir, 61) {
			t.Fatalf("truncated to %d bytes: the objects at 61 count as known", size)
		}
		again, err := OpenRecorder(dir)
		if err != nil {
			t.Fatal(err)
		}
		var past []string
		if complete, err := again.History(configMaps, func(o event.ReportedObject) { past = append(past, o.Name) }); err != nil || !complete || len(past) != 3 {
			t.Fatalf("truncated to %d bytes: the next run has history %v, complete %t, %v, want 3 objects, complete", size, past, complete, err)
		}
		again.release()
	}
}

// TestMasksChange checks that a run with masks does not copy unmasked objects of an earlier run into its segments.
func TestMasksChange(t *testing.T) {
	dir := t.TempDir()
	for n, masks := range []string{"", "secrets=true"} {
		r, err := OpenRecorder(dir)
		if err != nil {
			t.Fatal(err)
		}
		encode, err := output.NewEncoder(output.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.StartRun(Options{
			EncodeEvent: encode, EncodeObject: func(o event.Object) string {
				if masks == "" {
					return o.Raw()
				}
				return strings.ReplaceAll(o.Raw(), "hunter2", "<7 bytes>")
			},
			DescribeResource: func(schema.GroupVersionResource) metav1.APIResource { return metav1.APIResource{} },
		}, RunInfo{ClusterUID: "c", Masks: masks}, []event.Target{configMaps}); err != nil {
			t.Fatal(err)
		}
		o := object.Parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"a","resourceVersion":"1","uid":"u"},"data":{"p":"hunter2"}}`)
		if err := r.Deliver(t.Context(), []event.Event{{Type: event.Added, Target: configMaps, Object: o, Time: time.Now()}, {Type: event.Synced, Target: configMaps, Time: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		files, _, err := list(dir)
		if err != nil || len(files) != n+1 {
			t.Fatal(files, err)
		}
		s, err := load(context.Background(), files[n])
		if err != nil {
			t.Fatal(err)
		}
		u, err := newUnpacker()
		if err != nil {
			t.Fatal(err)
		}
		unmasked := 0
		err = s.lines(u, func(text string) error { unmasked += strings.Count(text, "hunter2"); return nil }, func() error { return nil }, func(why string) { t.Error(why) })
		if err != nil || unmasked > 0 != (masks == "") {
			t.Errorf("masks %q: the secret value was recorded %d times, %v", masks, unmasked, err)
		}
		u.close()
	}
}

// TestFirstDamaged checks that an unreadable first segment is a gap of a query for the whole recording, and not of later times.
func TestFirstDamaged(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = recorder(t, dir, Options{Now: func() time.Time { return at(20) }})
	deliver(t, r, statusEvent(event.Synced, 21))
	deliver(t, r, of(t, event.Modified, "web", 3, 30))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "x", string(skippable(preamble + "2"))} {
		if err := os.WriteFile(files[0].path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, proof := played(t, read(t, dir), Query{}); proof.IsComplete() {
			t.Errorf("first segment %q: the whole recording is complete", content)
		}
		if !isComplete(t, dir, 22, 30) {
			t.Errorf("first segment %q: 22 to 30 in the second segment is not complete", content)
		}
	}
}

// TestCoverageGap checks that a run that did not select all requested objects is a gap, with the reason that Query.CoverageGap
// returns, and that a target within the recorded target is covered.
func TestCoverageGap(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	_, proof := played(t, read(t, dir), Query{From: at(3), To: at(9), CoverageGap: func(event.Selection) string { return "only some of it was recorded" }})
	if len(proof.Gaps) != 1 || proof.Gaps[0].Reason != "only some of it was recorded" {
		t.Errorf("got gaps %v, want the reason of CoverageGap", gaps(proof))
	}
	narrower := event.Target{Mapping: configMaps.Mapping, Namespace: "a"}
	if _, proof := played(t, read(t, dir), Query{From: at(3), To: at(9), Targets: []event.Target{narrower}}); !proof.IsComplete() {
		t.Errorf("one namespace of all: got gaps %v, want none", gaps(proof))
	}
}

// TestSinkError checks that the proof of a replay that a sink ends is about the delivered events.
func TestSinkError(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	deliver(t, r, of(t, event.Modified, "web", 3, 20))
	enough := errors.New("enough")
	n := 0
	for _, test := range []struct {
		from  time.Time
		count int
		want  int // Proof.To; zero means no proof
	}{{time.Time{}, 1, 0}, {time.Time{}, 3, 10}, {at(5), 3, 10}} {
		n = 0
		proof, err := read(t, dir).Replay(t.Context(), Query{Targets: []event.Target{configMaps}, From: test.from, BatchSize: 1}, event.SinkFunc(func(context.Context, []event.Event) error {
			if n++; n == test.count {
				return enough
			}
			return nil
		}))
		switch {
		case !errors.Is(err, enough):
			t.Error(err)
		case test.want == 0 && proof != nil, test.want > 0 && (proof == nil || !proof.IsComplete() || !proof.To.Equal(at(test.want))):
			t.Errorf("error after %d batches: got proof %+v, want a complete one up to %d", test.count, proof, test.want)
		}
	}
}

// TestForeignSegment checks that a segment of another recording does not count as a continuation.
func TestForeignSegment(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		r := begunRun(t, d)
		deliver(t, r, of(t, event.Modified, "web", 2, 10))
		if err := r.current.close(r.coverage.states()); err != nil {
			t.Fatal(err)
		}
		r.coverage.segmentEnded = true
		if err := r.beginSegment(at(20), false); err != nil {
			t.Fatal(err)
		}
		deliver(t, r, of(t, event.Modified, "web", 3, 25))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, _, err := list(other)
	if err != nil {
		t.Fatal(err)
	}
	if !isComplete(t, dir, 5, 25) {
		t.Error("the recording has gaps before the segment is replaced")
	}
	data, err := os.ReadFile(files[1].path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(files[1].path)), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if isComplete(t, dir, 5, 25) {
		t.Error("a recording with a segment of another recording is complete")
	}
}

// TestVersions checks that an event in another version of the resource has no Old object, because the two differ without a
// change.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	newer := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v2", Resource: "configmaps"}, "ConfigMap", true)}
	o := object.Parse(t, strings.Replace(configMap(t, "web", 2).Raw(), `"apiVersion":"v1"`, `"apiVersion":"v2"`, 1))
	deliver(t, r, event.Event{Type: event.Modified, Target: newer, Object: o, Time: at(10)})
	got, _ := played(t, read(t, dir), Query{From: at(5), IncludeOld: true})
	if got[len(got)-1] != "MODIFIED web 2" {
		t.Errorf("got %v, want MODIFIED web 2 without an old object", got)
	}
}

// TestCompareVersions checks that Compare returns a modification although the version of the resource has changed, too.
func TestCompareVersions(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	newer := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v2", Resource: "configmaps"}, "ConfigMap", true)}
	o := object.Parse(t, strings.Replace(configMap(t, "web", 2).Raw(), `"apiVersion":"v1"`, `"apiVersion":"v2"`, 1))
	deliver(t, r, event.Event{Type: event.Modified, Target: newer, Object: o, Time: at(10)}, proven(11))
	c, err := read(t, dir).Compare(t.Context(), Query{Targets: []event.Target{configMaps}}, at(5), at(10))
	if err != nil || len(c.Events) != 1 || c.Events[0].Type != event.Modified || c.Events[0].Old.ResourceVersion != "1" {
		t.Errorf("got %+v, %v, want a modification of version 1", c.Events, err)
	}
}

// TestClockBack puts the clock back by 50 seconds. The objects must not be known at times that the clock showed twice.
func TestClockBack(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 100))
	r.now = at(50)
	if err := r.Deliver(t.Context(), []event.Event{{Type: event.Modified, Target: configMaps, Object: configMap(t, "web", 3), Time: at(50)}}); err != nil {
		t.Fatal(err)
	}
	deliver(t, r, proven(59))
	deliver(t, r, proven(200))
	for second, want := range map[int]bool{40: true, 60: false, 90: false, 150: true} {
		if got := isKnown(t, dir, second); got != want {
			t.Errorf("known at %d: %t, want %t", second, got, want)
		}
	}
}

// TestUnknownObject checks that a change of an object that was not recorded before is a MODIFIED event, or an ADDED event for a
// query with a selector.
func TestUnknownObject(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "other", 5, 10))
	for labels, want := range map[string]string{"": "MODIFIED other 5", "odd=true": "ADDED other 5"} {
		q := Query{From: at(5)}
		q.LabelSelector, _ = k8slabels.Parse(labels)
		got, proof := played(t, read(t, dir), q)
		if got[len(got)-1] != want || proof.ChangeCount != 1 {
			t.Errorf("selector %q: got %v, %d changes, want %s and 1 change", labels, got, proof.ChangeCount, want)
		}
	}
}

// TestManyLosses checks that the memory of a Recorder does not grow with each lost connection or message.
func TestManyLosses(t *testing.T) {
	r := begunRun(t, t.TempDir())
	for n := range 60 {
		lost := statusEvent(event.Disconnected, 10+10*n)
		lost.Err = fmt.Errorf("connection refused, try %d", n)
		deliver(t, r, lost)
		if n%2 == 0 {
			deliver(t, r, statusEvent(event.Reconnected, 12+10*n), of(t, event.Modified, "web", 2+n, 13+10*n), bookmark(at(13+10*n), at(13+10*n)))
		}
	}
	one := r.coverage.target(configMaps.Key())
	if len(one.spans) > 1 {
		t.Errorf("got %d spans, want at most 1", len(one.spans))
	}
	for n := range 60 {
		lost := statusEvent(event.Disconnected, 1000+10*n)
		lost.Err = fmt.Errorf("connection refused, again %d", n)
		deliver(t, r, lost)
	}
	if len(one.current.reason) > 2*maxReasonBytes {
		t.Errorf("got %d bytes of reasons, want at most %d", len(one.current.reason), 2*maxReasonBytes)
	}
}

// TestListedAtStart checks that a query from the exact time of a relist starts with the listed objects.
func TestListedAtStart(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	gone := of(t, event.Deleted, "web", 2, 10)
	gone.Listed = true
	deliver(t, r, gone, statusEvent(event.Gap, 10))
	deliver(t, r, of(t, event.Added, "web", 3, 11))
	got, _ := played(t, read(t, dir), Query{From: at(10)})
	if want := []string{"SYNCED", "GAP", "ADDED web 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
