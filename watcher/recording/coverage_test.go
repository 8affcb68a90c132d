package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// begunRun is a recording whose target is known from second 2 on.
func begunRun(t testing.TB, dir string) *testRun {
	r := recorder(t, dir, Options{})
	first := of(t, event.Added, "web", 1, 1)
	first.Initial = true
	deliver(t, r, first, mark(event.Synced, 2))
	return r
}

func isComplete(t testing.TB, dir string, from, to int) bool {
	t.Helper()
	_, proof := played(t, read(t, dir), Query{From: at(from), To: at(to)})
	return proof.IsComplete()
}

func isKnown(t testing.TB, dir string, second int) bool {
	t.Helper()
	_, proof, err := read(t, dir).ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, at(second))
	if err != nil {
		t.Fatal(err)
	}
	return proof.IsComplete()
}

// TestAtRelist: at the very time at which all was relisted it is known what was there then.
func TestAtRelist(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	listed := of(t, event.Modified, "web", 2, 10)
	listed.Listed = true
	deliver(t, r, listed, mark(event.Gap, 10))
	objects, proof, err := read(t, dir).ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, time.Time{})
	if err != nil || !proof.IsComplete() || !proof.To.Equal(at(10)) || len(objects) != 1 || objects[0].ResourceVersion != "2" {
		t.Errorf("%v %+v %v", objects, proof, err)
	}
}

// TestNothingMissed: a loss after which the watch went on where it was, and had nothing to tell, is
// none.
func TestNothingMissed(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, mark(event.Disconnected, 105))
	deliver(t, r, mark(event.Reconnected, 150), bookmark(at(100), at(160)))
	if isKnown(t, dir, 120) || !isKnown(t, dir, 99) {
		t.Error("by what was heard before the loss it is known")
	}
	deliver(t, r, bookmark(at(149), at(161)))
	if !isKnown(t, dir, 120) || !isKnown(t, dir, 149) || isKnown(t, dir, 155) || !isComplete(t, dir, 10, 149) {
		t.Error("it is not known")
	}
	deliver(t, r, bookmark(at(162), at(165)))
	deliver(t, r, of(t, event.Modified, "web", 2, 170))
	if !isComplete(t, dir, 10, 170) {
		t.Error("it does not go on")
	}
}

// TestBehind: a watch that goes on counts as caught up when nothing has come since the time up to
// which all has, or when that is a moment ago.
func TestBehind(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, mark(event.Disconnected, 9))
	deliver(t, r, mark(event.Reconnected, 50), of(t, event.Modified, "web", 2, 51), bookmark(at(49), at(51)))
	deliver(t, r, of(t, event.Modified, "web", 3, 52))
	if isKnown(t, dir, 51) || isKnown(t, dir, 52) {
		t.Error("it is known while the watch may be behind")
	}
	deliver(t, r, bookmark(at(52), at(55)))
	if isKnown(t, dir, 51) || !isKnown(t, dir, 52) || isKnown(t, dir, 54) {
		t.Error("what was there since the last change is not known")
	}
	deliver(t, r, mark(event.Disconnected, 60))
	deliver(t, r, mark(event.Reconnected, 70), of(t, event.Modified, "web", 4, 71), bookmark(at(70), at(71)), of(t, event.Modified, "web", 5, 75))
	if isKnown(t, dir, 70) || !isKnown(t, dir, 71) || !isKnown(t, dir, 74) {
		t.Error("a watch that is a moment behind is not taken for caught up")
	}
}

// TestSlowList: what a list that took long names was there when it began; what has happened since
// is still to come.
func TestSlowList(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	if err := r.Deliver(t.Context(), []event.Event{{Type: event.Synced, Target: configMaps, Time: at(9)}, bookmark(at(1), at(9))}); err != nil {
		t.Fatal(err)
	}
	if isKnown(t, dir, 9) {
		t.Error("it is known at its end")
	}
	r.now = at(12)
	r.tick()
	if err := r.Deliver(t.Context(), []event.Event{bookmark(at(10), at(12))}); err != nil {
		t.Fatal(err)
	}
	if !isKnown(t, dir, 9) || !isKnown(t, dir, 10) || isKnown(t, dir, 8) {
		t.Error("it is not known when nothing had come since")
	}
}

// TestSuspended: a recorder that slept has not seen what happened meanwhile when it did.
func TestSuspended(t *testing.T) {
	for _, seconds := range []int{3, 14, 300} {
		dir := t.TempDir()
		r := begunRun(t, dir)
		deliver(t, r, proven(30))
		awake := 30 + seconds
		r.now, r.lost, r.halted = at(awake), true, true
		doubts := 0
		r.ProbeFreshness = func() { doubts++ }
		deliver(t, r, bookmark(at(20), at(awake+1)), of(t, event.Modified, "web", 2, awake+2))
		if doubts != 1 {
			t.Errorf("it asked %d times how far behind its watches are", doubts)
		}
		deliver(t, r, proven(awake+3))
		r.lost = false
		deliver(t, r, proven(awake+70))
		for second, want := range map[int]bool{20: true, 30: true, 30 + seconds/2: false, awake - 1: false, awake + 1: false, awake + 2: true, awake + 60: true} {
			if got := isKnown(t, dir, second); got != want {
				t.Errorf("after %d seconds, at %d: %t", seconds, second, got)
			}
		}
		if isComplete(t, dir, 10, 30+seconds/2) || !isComplete(t, dir, 10, awake+60) {
			t.Errorf("after %d seconds: what happened is among what came, and when is not known", seconds)
		}
	}
}

// TestSuspensionIsReportedOnce checks that a look at the clock that comes late means a suspension, which take returns once.
func TestSuspensionIsReportedOnce(t *testing.T) {
	var m clockMonitor
	m.look(at(0))
	check := func(now int, want time.Time) {
		t.Helper()
		if since, step := m.take(at(now)); !since.Equal(want) || !step.isZero() {
			t.Errorf("at %d: suspended since %v, want %v; step %v", now, since, want, step)
		}
	}
	check(1, time.Time{})
	m.look(at(4)) // before anything is delivered
	m.look(at(5))
	check(6, at(1))
	check(7, time.Time{})
	m.look(at(3)) // the clock was put back
	check(4, time.Time{})
}

// TestClockStep checks that the monitor finds a wall clock that was put back, by comparison with the monotonic clock, and
// returns all times that may have been shown twice.
func TestClockStep(t *testing.T) {
	var offset time.Duration
	m := clockMonitor{readOffset: func() time.Duration { return offset }}
	m.look(at(0))
	millis := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	offset -= 300 * time.Millisecond
	m.look(millis(700))
	offset -= 200 * time.Millisecond
	m.look(millis(1500))
	if _, step := m.take(millis(1600)); !step.from.Equal(millis(-300)) || !step.to.Equal(millis(1700)) {
		t.Errorf("got %v to %v", step.from.Sub(start), step.to.Sub(start))
	}
	offset += time.Second // it was put forward
	if _, step := m.take(millis(2600)); !step.isZero() {
		t.Errorf("got %v to %v, want none", step.from.Sub(start), step.to.Sub(start))
	}
	offset -= stepTolerance
	if _, step := m.take(millis(2700)); !step.isZero() {
		t.Errorf("got %v to %v for the time between two clocks, want none", step.from.Sub(start), step.to.Sub(start))
	}
}

// TestSmallClockStep checks that nothing is known of times that the clock showed twice because it was put back by half a
// second, and that all is known again soon after.
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
	offset -= 500 * time.Millisecond // shows 30.1 again
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
			t.Errorf("at %d ms: complete, %v", millis, err)
		}
	}
	for _, second := range []int{20, 29, 33, 50} {
		if !isKnown(t, dir, second) {
			t.Errorf("at %d s: not known", second)
		}
	}
}

// TestNotYetDefined checks that a resource is known to have no objects while its definition did not exist, and that nothing
// else is concluded from the definition.
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
		alive := func(second int, targets ...event.Target) {
			var all []event.Event
			for _, target := range targets {
				all = append(all, bookmarkOf(target, second))
			}
			deliver(t, r, all...)
		}
		deliver(t, r, status(event.Synced, configMaps, 1), status(event.Synced, definitions, 1))
		for second := 10; second <= 100; second += 10 {
			alive(second, configMaps, definitions)
		}
		rotate()
		deliver(t, r, event.Event{Type: event.Added, Target: definitions, Object: definition, Time: at(105)})
		deliver(t, r, status(event.Arrived, databases, 107), status(event.Arrived, metrics, 107))
		deliver(t, r, event.Event{Type: event.Added, Target: databases, Object: database, Listed: true, Time: at(108)}, status(event.Synced, databases, 108), status(event.Synced, metrics, 108))
		for second := 110; second <= 200; second += 10 {
			alive(second, definitions, databases, metrics)
		}
		rotate()
		for second := 210; second <= 300; second += 10 {
			alive(second, definitions, databases, metrics)
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
				t.Errorf("segments %t, %d to %d: complete %t, want %t: %v; %v, %d objects", rotates, from, to, proof.IsComplete(), want, gaps(proof), gaps(atProof), len(objects))
			}
		}
		check(true, 20, 60, databases)
		check(true, 20, 90, configMaps, databases, definitions)
		check(true, 59, 60, databases)
		check(false, 106, 107, databases) // it was defined, and nobody watched
		check(false, 20, 150, databases)
		check(true, 120, 150, databases)
		check(true, 120, 290, databases)
		check(false, 20, 60, metrics) // it has no definition
		check(false, 59, 60, metrics)
		_, proof := played(t, read(t, dir), Query{Targets: []event.Target{databases}})
		if want := []string{"not known: 105 to 108 ("}; len(proof.Gaps) != 1 || !strings.HasPrefix(gaps(proof)[0], want[0]) {
			t.Errorf("got %q, want %q", gaps(proof), want)
		}
	}
}

// TestHeldUp: what comes after a delivery that took long may have waited for it.
func TestHeldUp(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	r.Recorder.delayed = true
	deliver(t, r, of(t, event.Modified, "web", 2, 12))
	if isKnown(t, dir, 12) || !isKnown(t, dir, 2) {
		t.Error("it is known")
	}
}

// TestSilent: that the recorder lives does not say that its watch does.
func TestSilent(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, proven(30))
	r.lost = true // without a mark
	deliver(t, r, mark(event.Heartbeat, 100))
	r.release() // as a kill does
	if isKnown(t, dir, 60) || !isKnown(t, dir, 30) {
		t.Error("it is taken for known while nothing was heard of the watch")
	}
	next := recorder(t, dir, Options{Now: func() time.Time { return at(200) }})
	deliver(t, next, mark(event.Synced, 201))
	if isComplete(t, dir, 20, 100) || isKnown(t, dir, 60) {
		t.Error("the next run makes it known")
	}
}

// TestStalled: what came over a connection that stood still has come later than it happened, also if no
// loss was noticed. The server says that when it is asked.
func TestStalled(t *testing.T) {
	for _, tells := range []bool{true, false} {
		dir := t.TempDir()
		r := begunRun(t, dir)
		deliver(t, r, proven(30))
		r.lost = true
		deliver(t, r, mark(event.Heartbeat, 53))
		came := []event.Event{of(t, event.Modified, "web", 2, 53)}
		if !tells { // the last one to say so was asked before
			came = append(came, bookmark(at(30), at(54)))
		}
		deliver(t, r, came...)
		if isKnown(t, dir, 40) || isKnown(t, dir, 53) || isComplete(t, dir, 10, 45) || !isKnown(t, dir, 30) {
			t.Error("it is known before anything is proven")
		}
		if tells {
			deliver(t, r, bookmark(time.Time{}, at(54)), bookmark(at(32), at(54)))
			deliver(t, r, proven(55))
			if isKnown(t, dir, 40) || !isKnown(t, dir, 54) || isComplete(t, dir, 10, 45) || !isComplete(t, dir, 10, 55) {
				t.Error("that it stood still is not told")
			}
		}
	}
}

// TestMoment: a change that comes a moment after a proof is of then, unless the next one says
// otherwise.
func TestMoment(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, proven(30))
	r.lost = true
	deliver(t, r, of(t, event.Modified, "web", 2, 36))
	if !isKnown(t, dir, 36) || isKnown(t, dir, 37) {
		t.Error("it is not known")
	}
	deliver(t, r, bookmark(time.Time{}, at(37)))
	if isKnown(t, dir, 36) || isKnown(t, dir, 31) || !isKnown(t, dir, 30) {
		t.Error("it is known")
	}
	deliver(t, r, proven(38))
	if !isKnown(t, dir, 36) || isKnown(t, dir, 35) || !isKnown(t, dir, 38) {
		t.Error("it does not go on from the change")
	}
}

// TestNoticedLate: that a connection was lost is said after the time that is asked for, behind the
// begin of another segment.
func TestNoticedLate(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	r.lost = true
	deliver(t, r, mark(event.Heartbeat, 390))
	if err := r.current.close(r.coverage.states()); err != nil {
		t.Fatal(err)
	}
	r.coverage.segmentEnded = true
	if err := r.beginSegment(at(391), false); err != nil {
		t.Fatal(err)
	}
	lost := mark(event.Disconnected, 392)
	lost.Heard = at(2)
	deliver(t, r, lost)
	if isComplete(t, dir, 10, 60) || isKnown(t, dir, 60) {
		t.Error("it is complete")
	}
}

// TestWithoutEnd: a segment without its end, that the same run went on from, has lost lines.
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
		t.Error("it is not complete")
	}
	for size := 60; size < len(whole); size += 7 {
		if err := os.WriteFile(files[0].path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if isComplete(t, dir, 10, 110) {
			t.Fatalf("cut at %d it is complete", size)
		}
		if _, proof := played(t, read(t, dir), Query{}); proof.IsComplete() && proof.From.Before(at(101)) {
			t.Fatalf("cut at %d all of it is complete", size)
		}
	}
}

// TestKilledAtBegin: a run that was killed while it wrote what was there leaves nothing that the next
// builds on, and nothing that is taken for all.
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
			t.Fatalf("at %d what is there is known", size)
		}
		again, err := OpenRecorder(dir)
		if err != nil {
			t.Fatal(err)
		}
		var past []string
		if complete, err := again.History(configMaps, func(o event.ReportedObject) { past = append(past, o.Name) }); err != nil || !complete || len(past) != 3 {
			t.Fatalf("at %d the next run builds on %v %t %v", size, past, complete, err)
		}
		again.release()
	}
}

// TestMasksChange: what an earlier run recorded in clear is not written again by one that masks.
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
		clear := 0
		err = s.lines(u, func(text string) error { clear += strings.Count(text, "hunter2"); return nil }, func() error { return nil }, func(why string) { t.Error(why) })
		if err != nil || clear > 0 != (masks == "") {
			t.Errorf("with masks %q it is in clear %d times, %v", masks, clear, err)
		}
		u.close()
	}
}

// TestFirstDamaged: where the first segment can't be read, not all from the begin on is known.
func TestFirstDamaged(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = recorder(t, dir, Options{Now: func() time.Time { return at(20) }})
	deliver(t, r, mark(event.Synced, 21))
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
			t.Errorf("%q: all is known", content)
		}
		if !isComplete(t, dir, 22, 30) {
			t.Errorf("%q: nothing is known", content)
		}
	}
}

// TestSelected: a run that did not select all that is asked for does not know it.
func TestSelected(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	_, proof := played(t, read(t, dir), Query{From: at(3), To: at(9), CoverageGap: func(event.Selection) string { return "only some of it was recorded" }})
	if len(proof.Gaps) != 1 || proof.Gaps[0].Reason != "only some of it was recorded" {
		t.Errorf("%v", gaps(proof))
	}
	wider := event.Target{Mapping: configMaps.Mapping, Namespace: "a"}
	if _, proof := played(t, read(t, dir), Query{From: at(3), To: at(9), Targets: []event.Target{wider}}); !proof.IsComplete() {
		t.Error("what is part of it is not known")
	}
}

// TestEndedEarly: when nobody wants more, the answer is about what was delivered.
func TestEndedEarly(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	deliver(t, r, of(t, event.Modified, "web", 3, 20))
	enough := errors.New("enough")
	n := 0
	for _, test := range []struct {
		from  time.Time
		count int
		want  int // 0: nothing is said
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
			t.Errorf("after %d: %+v", test.count, proof)
		}
	}
}

// TestForeignSegment: a segment of another recording, or under another number, is none of this one.
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
		t.Error("it is not complete")
	}
	data, err := os.ReadFile(files[1].path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(files[1].path)), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if isComplete(t, dir, 5, 25) {
		t.Error("with a segment of another recording it is complete")
	}
}

// TestVersions: two versions of a resource show the same object in other words: that is no change.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	newer := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v2", Resource: "configmaps"}, "ConfigMap", true)}
	o := object.Parse(t, strings.Replace(configMap(t, "web", 2).Raw(), `"apiVersion":"v1"`, `"apiVersion":"v2"`, 1))
	deliver(t, r, event.Event{Type: event.Modified, Target: newer, Object: o, Time: at(10)})
	got, _ := played(t, read(t, dir), Query{From: at(5), IncludeOld: true})
	if got[len(got)-1] != "MODIFIED web 2" {
		t.Errorf("%v", got)
	}
}

// TestClockBack: of what happened at times that the clock showed twice not all is known.
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
			t.Errorf("at %d: %t", second, got)
		}
	}
}

// TestNotHeld: a change of an object of which nothing is known before is a change. Only for who asked
// for a part it may have come into that.
func TestNotHeld(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "other", 5, 10))
	for labels, want := range map[string]string{"": "MODIFIED other 5", "odd=true": "ADDED other 5"} {
		q := Query{From: at(5)}
		q.LabelSelector, _ = k8slabels.Parse(labels)
		got, proof := played(t, read(t, dir), q)
		if got[len(got)-1] != want || proof.ChangeCount != 1 {
			t.Errorf("%q: %v, %d changes", labels, got, proof.ChangeCount)
		}
	}
}

// TestManyLosses: what a recorder keeps does not grow with each loss, nor with each message.
func TestManyLosses(t *testing.T) {
	r := begunRun(t, t.TempDir())
	for n := range 60 {
		lost := mark(event.Disconnected, 10+10*n)
		lost.Err = fmt.Errorf("connection refused, try %d", n)
		deliver(t, r, lost)
		if n%2 == 0 {
			deliver(t, r, mark(event.Reconnected, 12+10*n), of(t, event.Modified, "web", 2+n, 13+10*n), bookmark(at(13+10*n), at(13+10*n)))
		}
	}
	one := r.coverage.target(configMaps.Key())
	if len(one.spans) > 1 {
		t.Errorf("%d spans", len(one.spans))
	}
	for n := range 60 {
		lost := mark(event.Disconnected, 1000+10*n)
		lost.Err = fmt.Errorf("connection refused, again %d", n)
		deliver(t, r, lost)
	}
	if len(one.current.reason) > 2*maxReasonBytes {
		t.Errorf("%d bytes of reasons", len(one.current.reason))
	}
}
