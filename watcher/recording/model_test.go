package recording

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/testdata/object"
	"dwatch/testdata/race"
	"dwatch/watcher/event"
)

var modelSeeds = flag.Int("seeds", 60, "simulate `N` recordings in TestNeverFalselyComplete")

// world simulates a server, and runs that record it. truth has all changes. Each watch has reported the changes up to some
// time, and queries must not claim to know more.
type world struct {
	testing.TB
	random  *rand.Rand
	dir     string
	now     time.Time         // according to the clock of the machine
	epochs  []epoch           // periods after the clock was put back
	exists  map[string]string // versions of the existing objects, by kind/namespace/name
	truth   []change
	version int // the latest resourceVersion

	recorder  *Recorder
	watches   []*simulatedWatch
	suspended bool // the recorder did not run until now
}

// change is a change of an object.
type change struct {
	at     time.Time // according to the clock of the machine
	real   time.Time // as if the clock had never been put back
	text   string    // type, kind/namespace/name and version
	target event.Target
}

// epoch is a period during which the clock of the machine was not put back.
type epoch struct {
	begin time.Time     // real time
	back  time.Duration // by how much the clock was put back so far
}

func (w *world) back() time.Duration {
	if len(w.epochs) == 0 {
		return 0
	}
	return w.epochs[len(w.epochs)-1].back
}

// stepBack puts the clock back. Times that the server has confirmed are adjusted to the new clock.
func (w *world) stepBack() {
	step := time.Duration(11+w.random.IntN(1500)) * time.Millisecond
	w.epochs = append(w.epochs, epoch{w.now.Add(w.back()), w.back() + step})
	w.now = w.now.Add(-step)
	for _, one := range w.watches {
		if !one.confirmed.IsZero() {
			one.confirmed = one.confirmed.Add(-step)
		}
	}
}

// simulatedWatch is a watch of a run.
type simulatedWatch struct {
	target   event.Target
	reported int               // number of changes in truth that have been reported
	known    map[string]string // versions of the objects that the recorder knows, by namespace/name
	isLost   bool              // the connection is lost, and the recorder knows
	isSilent bool              // the connection is lost, and no one has noticed
	// isStalled means that the connection is alive and delivers events later.
	isStalled bool
	// confirmed is the time that the next bookmark confirms. All changes up to that time have been reported.
	confirmed time.Time
	synced    bool
}

var modelTargets = []event.Target{
	{Mapping: configMaps.Mapping, Namespace: "a"}, {Mapping: configMaps.Mapping, Namespace: "b"},
	{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true), Namespace: "a"},
}

// TestNeverFalselyComplete simulates random recordings: changes; connections that are lost, noticed or not; runs that are killed,
// suspended, ended or started with other targets; clocks that are put back; and segments that are truncated, removed or changed
// at random bytes. Results that claim to be complete must match the simulated changes.
func TestNeverFalselyComplete(t *testing.T) {
	seeds := *modelSeeds
	if testing.Short() || race.Enabled { // the simulation has no concurrency, so it has no races
		seeds = min(seeds, 10)
	}
	complete := 0
	for seed := range seeds {
		w := &world{TB: t, random: rand.New(rand.NewPCG(uint64(seed), 7)), dir: t.TempDir(), now: start, exists: map[string]string{}}
		w.simulate()
		complete += w.query(fmt.Sprint("seed ", seed))
		for n := range 6 {
			damaged := *w
			damaged.dir = t.TempDir()
			how := damaged.damage(w.dir)
			complete += damaged.query(fmt.Sprint("seed ", seed, ", ", n, ": ", how))
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d results were complete", complete)
	if complete < seeds*5 {
		t.Errorf("only %d results were complete, want at least %d", complete, seeds*5)
	}
}

// simulate simulates some minutes.
func (w *world) simulate() {
	w.begin()
	for range 150 + w.random.IntN(250) {
		w.pass(time.Duration(w.random.IntN(3000)) * time.Millisecond)
		switch n := w.random.IntN(200); {
		case n < 100:
			w.change()
		case n < 104:
			w.lose(true)
		case n < 108:
			w.lose(false)
		case n < 112:
			w.suspend()
		case n < 150 && n >= 146:
			w.stall()
		case n < 116:
			w.recorder.release()
			w.recorder = nil
			w.pass(time.Duration(w.random.IntN(60)) * time.Second)
			for range w.random.IntN(4) {
				w.change()
			}
			w.begin()
		case n < 117:
			w.quit()
			w.change()
			w.begin()
		case n >= 150 && n < 154:
			w.change()
			w.change()
			w.stepBack()
			for range w.random.IntN(3) {
				w.change()
			}
		case n >= 117 && n < 119:
			w.must(w.recorder.current.close(w.recorder.coverage.states()))
			w.recorder.coverage.segmentEnded = true
			w.must(w.recorder.beginSegment(w.now, false))
		}
	}
	if w.random.IntN(2) == 0 {
		w.quit()
	} else {
		w.recorder.release()
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) quit() {
	w.must(w.recorder.Close())
	w.recorder = nil
}

// begin starts a run with some of the targets.
func (w *world) begin() {
	r, err := OpenRecorder(w.dir)
	w.must(err)
	w.recorder = r
	r.clock.readOffset = func() time.Duration { return -w.back() }
	r.clock.offset = r.clock.readOffset()
	encode, err := output.NewEncoder(output.Options{})
	w.must(err)
	w.watches = nil
	var targets []event.Target
	for _, t := range modelTargets {
		if w.random.IntN(5) > 0 || len(targets) == 0 {
			targets = append(targets, t)
			w.watches = append(w.watches, &simulatedWatch{target: t, known: map[string]string{}})
		}
	}
	o := Options{
		EncodeEvent: encode, EncodeObject: func(o event.Object) string { return o.Raw() }, Now: func() time.Time { return w.now },
		DescribeResource:  func(schema.GroupVersionResource) metav1.APIResource { return metav1.APIResource{} },
		WatchHasNoHistory: w.random.IntN(3) == 0,
	}
	w.must(r.StartRun(o, RunInfo{ClusterUID: "c", Masks: []string{"x", "x", "x", "y"}[w.random.IntN(4)]}, targets))
	for _, one := range w.watches {
		if o.WatchHasNoHistory {
			break // the watch lists all objects as if there were no recording
		}
		_, err := r.History(one.target, func(o event.ReportedObject) { one.known[o.Namespace+"/"+o.Name] = o.ResourceVersion })
		w.must(err)
	}
	for _, one := range w.watches {
		w.pass(time.Duration(w.random.IntN(300)) * time.Millisecond)
		w.relist(one)
	}
}

func (w *world) deliver(events ...event.Event) {
	if !w.suspended {
		w.recorder.clock.last = w.now
	}
	w.suspended = false
	w.must(w.recorder.Deliver(context.Background(), events))
}

// pass lets time pass, with heartbeats and bookmarks.
func (w *world) pass(d time.Duration) {
	end := w.now.Add(d)
	for next := w.now.Truncate(HeartbeatInterval).Add(HeartbeatInterval); !next.After(end); next = next.Add(HeartbeatInterval) {
		w.now = next
		if w.recorder == nil {
			continue
		}
		w.deliver(event.Event{Type: event.Heartbeat, Time: w.now})
		for _, one := range w.watches {
			if one.isLost || one.isSilent || one.isStalled {
				continue
			}
			switch w.random.IntN(4) {
			case 0: // the server confirms the current time
				one.confirmed = w.now
				w.bookmark(one)
			case 1: // the confirmation is old
				w.bookmark(one)
			}
		}
		for _, one := range w.watches {
			if one.isSilent && w.random.IntN(5) == 0 {
				w.notice(one)
			} else if one.isLost && w.random.IntN(2) == 0 {
				w.reconnect(one)
			}
		}
	}
	w.now = end
}

// change changes an object. Watches with a working connection report it.
func (w *world) change() { w.changeOf(modelTargets[w.random.IntN(len(modelTargets))]) }

// changeOf is change for an object of a target.
func (w *world) changeOf(t event.Target) {
	name := fmt.Sprint("o", w.random.IntN(4))
	key := t.Mapping.GroupVersionKind.Kind + "/" + t.Namespace + "/" + name
	w.version++
	version := fmt.Sprint(w.version)
	before, existed := w.exists[key]
	kind := "MODIFIED"
	switch {
	case !existed:
		kind = "ADDED"
		w.exists[key] = version
	case w.random.IntN(4) == 0:
		kind, version = "DELETED", before
		delete(w.exists, key)
	default:
		w.exists[key] = version
	}
	w.now = w.now.Add(time.Duration(1+w.random.IntN(20)) * time.Millisecond)
	w.truth = append(w.truth, change{w.now, w.now.Add(w.back()), kind + " " + key + " " + version, t})
	if w.recorder == nil {
		return
	}
	for _, one := range w.watches {
		if !one.isLost && !one.isSilent && !one.isStalled && one.target == t {
			w.now = w.now.Add(time.Millisecond)
			w.report(one, w.truth[len(w.truth)-1].text, false)
			one.reported = len(w.truth)
		}
	}
}

func (w *world) object(key, version string) event.Object {
	parts := strings.Split(key, "/")
	return object.Parse(w, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":%q,"resourceVersion":%q,"uid":"u"}}`, parts[0], parts[2], parts[1], version))
}

// report delivers the event of a change. text is change.text.
func (w *world) report(one *simulatedWatch, text string, listed bool) {
	parts := strings.Fields(text)
	e := event.Event{Type: event.Type(parts[0]), Target: one.target, Object: w.object(parts[1], parts[2]), Time: w.now, Listed: listed}
	name := strings.SplitN(parts[1], "/", 2)[1]
	if one.known[name] = parts[2]; e.Type == event.Deleted {
		delete(one.known, name)
	}
	w.deliver(e)
}

// relist reports the differences between the existing objects and those that the recorder knows.
func (w *world) relist(one *simulatedWatch) {
	prefix := one.target.Mapping.GroupVersionKind.Kind + "/"
	var keys []string
	for key := range w.exists {
		if strings.HasPrefix(key, prefix+one.target.Namespace+"/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		w.now = w.now.Add(time.Millisecond)
		name := strings.TrimPrefix(key, prefix)
		switch version, isKnown := one.known[name]; {
		case !isKnown:
			w.report(one, "ADDED "+key+" "+w.exists[key], true)
		case version != w.exists[key]:
			w.report(one, "MODIFIED "+key+" "+w.exists[key], true)
		}
	}
	for name, version := range one.known {
		if _, exists := w.exists[prefix+name]; !exists {
			w.report(one, "DELETED "+prefix+name+" "+version, true)
		}
	}
	kind := event.Synced
	if one.synced {
		kind = event.Gap
	}
	one.synced, one.isLost, one.isSilent, one.reported = true, false, false, len(w.truth)
	w.deliver(event.Event{Type: kind, Target: one.target, Time: w.now})
	one.confirmed = w.now
	if w.random.IntN(4) == 0 { // the list was slow, and objects changed since it began
		w.pause()
		w.changeUnreported(one.target, w.random.IntN(3))
		w.bookmark(one)
		w.catchUp(one)
	}
	w.bookmark(one)
}

// bookmark confirms that all changes up to one.confirmed have been reported.
func (w *world) bookmark(one *simulatedWatch) {
	w.deliver(event.Event{Type: event.Bookmark, Target: one.target, Time: w.now, Heard: one.confirmed})
}

// changeUnreported changes objects n times. No watch reports these changes before catchUp.
func (w *world) changeUnreported(t event.Target, n int) {
	r := w.recorder
	w.recorder = nil
	for range n {
		w.changeOf(t)
	}
	w.recorder = r
}

// lose interrupts the connection of a watch. If isNoticed is false, the recorder learns that later.
func (w *world) lose(isNoticed bool) {
	one := w.watches[w.random.IntN(len(w.watches))]
	if one.isLost || one.isSilent {
		return
	}
	if one.isSilent = true; isNoticed {
		w.notice(one)
	}
}

// notice tells the recorder that a connection is lost.
func (w *world) notice(one *simulatedWatch) {
	one.isSilent, one.isLost = false, true
	w.deliver(event.Event{Type: event.Disconnected, Target: one.target, Time: w.now, Err: errors.New("lost"), Heard: one.confirmed})
}

// reconnect resumes a watch, or relists.
func (w *world) reconnect(one *simulatedWatch) {
	w.now = w.now.Add(time.Millisecond)
	if w.random.IntN(2) == 0 {
		w.relist(one)
		return
	}
	one.isLost = false
	w.deliver(event.Event{Type: event.Reconnected, Target: one.target, Time: w.now})
	if w.random.IntN(4) == 0 {
		one.isSilent = true // the connection is lost again before it delivers events
		w.bookmark(one)
		return
	}
	if w.random.IntN(2) == 0 {
		one.confirmed = w.now
		w.pause()
		w.changeUnreported(one.target, w.random.IntN(3)) // while it catches up
	}
	w.catchUp(one)
	if w.random.IntN(2) == 0 {
		one.confirmed = w.now
	}
	if w.random.IntN(3) > 0 {
		w.bookmark(one)
	}
}

// pause lets more time pass than a watch may lag behind to count as caught up.
func (w *world) pause() {
	w.now = w.now.Add(time.Duration(5001+w.random.IntN(2000)) * time.Millisecond)
}

// catchUp reports the changes that a watch has not reported yet.
func (w *world) catchUp(one *simulatedWatch) {
	for _, c := range w.truth[one.reported:] {
		if c.target == one.target {
			w.now = w.now.Add(time.Duration(w.random.IntN(900)) * time.Millisecond)
			w.report(one, c.text, false)
		}
	}
	one.reported = len(w.truth)
}

// suspend suspends the recorder while objects change. The watches report the changes later.
func (w *world) suspend() {
	r := w.recorder
	w.recorder = nil
	r.clock.last = w.now
	w.now = w.now.Add(time.Duration(3000+w.random.IntN(1+w.random.IntN(100000))) * time.Millisecond)
	for range w.random.IntN(4) {
		w.change()
	}
	w.now = w.now.Add(time.Duration(w.random.IntN(1+w.random.IntN(100))) * time.Second)
	w.recorder, w.suspended = r, true
	for _, one := range w.watches {
		if one.isLost || one.isSilent {
			continue
		}
		if w.random.IntN(2) == 0 { // a bookmark that was sent before the changes
			w.bookmark(one)
		}
		w.catchUp(one)
		if w.random.IntN(2) == 0 {
			one.confirmed = w.now
			w.bookmark(one)
		}
	}
}

// stall simulates a connection that delivers nothing for some time, and is not lost.
func (w *world) stall() {
	one := w.watches[w.random.IntN(len(w.watches))]
	if one.isLost || one.isSilent {
		return
	}
	one.isStalled = true
	w.pass(time.Duration(8000+w.random.IntN(40000)) * time.Millisecond)
	w.changeUnreported(one.target, w.random.IntN(3))
	w.pass(time.Duration(w.random.IntN(4000)) * time.Millisecond)
	one.isStalled = false
	confirmed := w.now // a time during or after the stall
	if w.random.IntN(2) == 0 {
		confirmed = confirmed.Add(-time.Duration(w.random.IntN(4000)) * time.Millisecond)
	}
	w.catchUp(one)
	if confirmed.Before(one.confirmed) {
		return
	}
	one.confirmed = time.Time{} // reports that the events were late
	w.bookmark(one)
	one.confirmed = confirmed
	w.bookmark(one)
}

// damage copies the recording at from into w.dir with one damaged segment, and returns what it did.
func (w *world) damage(from string) string {
	files, _, err := list(from)
	w.must(err)
	at := w.random.IntN(len(files))
	how := []string{"cut", "removed", "changed", "zeroed", "frame", "none"}[w.random.IntN(6)]
	for i, f := range files {
		data, err := os.ReadFile(f.path)
		w.must(err)
		if i == at && len(data) > 0 {
			switch n := w.random.IntN(len(data)); how {
			case "cut":
				data = data[:n]
			case "removed":
				continue
			case "changed":
				data[n] ^= byte(1 + w.random.IntN(255))
			case "zeroed":
				clear(data[n:min(n+512, len(data))])
			case "frame":
				data = withoutFrame(data, w.random)
			}
		}
		w.must(os.WriteFile(filepath.Join(w.dir, filepath.Base(f.path)), data, 0o600))
	}
	return fmt.Sprint(how, " ", filepath.Base(files[at].path), " of ", len(files))
}

// withoutFrame removes a random frame from a segment.
func withoutFrame(data []byte, random *rand.Rand) []byte {
	var parts [][]byte
	for rest := data; len(rest) > 0; {
		before := rest
		_, rest = nextPart(rest, false)
		parts = append(parts, before[:len(before)-len(rest)])
	}
	n := random.IntN(len(parts))
	return slices.Concat(slices.Delete(parts, n, n+1)...)
}

// query queries the recording for random times and periods, checks the results, and returns how many were complete. label
// describes the recording in failures.
func (w *world) query(label string) (complete int) {
	r, err := Read(context.Background(), Dir(w.dir))
	if err != nil {
		if !errors.Is(err, ErrNoRecording) {
			w.Fatal(err)
		}
		return 0
	}
	length := w.now.Sub(start)
	for n := range 14 {
		from, to := w.between(length), w.between(length)
		if from.After(to) {
			from, to = to, from
		}
		if n%3 > 0 {
			to = from.Add(to.Sub(from) / 20)
		}
		q := Query{Targets: modelTargets[:1+w.random.IntN(len(modelTargets))], From: from, To: to}
		if w.checkAt(r, label, q, to) {
			complete++
		}
		if from.Before(to) && w.checkSpan(r, label, q) {
			complete++
		}
		if from.Before(to) && n%7 == 0 { // as slow as all other checks together
			w.checkWithin(r, label, q)
		}
	}
	w.checkSpan(r, label, Query{Targets: modelTargets[:1]})
	w.checkAt(r, label, Query{Targets: modelTargets[:1]}, time.Time{})
	return complete
}

// between returns a random time within length after start.
func (w *world) between(length time.Duration) time.Time {
	if len(w.epochs) > 0 && w.random.IntN(4) == 0 { // a time near a step of the clock
		e := w.epochs[w.random.IntN(len(w.epochs))]
		near := e.begin.Add(-e.back + time.Duration(w.random.IntN(3000)-500)*time.Millisecond)
		if near.After(start) {
			return near.Truncate(time.Millisecond)
		}
	}
	return start.Add(time.Duration(w.random.Int64N(int64(length)))).Truncate(time.Millisecond)
}

// lag is how much later than it happened a working watch may report a change.
const lag = 10 * time.Millisecond

// checkAt checks the objects at a time, if the result claims to be complete: they must have existed at that time, or at one
// within the lag before it. It returns whether the result is complete.
func (w *world) checkAt(r *Recording, label string, q Query, at time.Time) bool {
	w.Helper()
	objects, proof, err := r.ObjectsAt(w.Context(), q, at)
	w.must(err)
	if !proof.IsComplete() {
		return false
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.Kind+"/"+o.Namespace+"/"+o.Name+" "+o.ResourceVersion)
	}
	slices.Sort(got)
	for _, early := range []time.Duration{lag, 5 * time.Millisecond, 3 * time.Millisecond, 2 * time.Millisecond, time.Millisecond, 0} {
		if slices.Contains(w.statesAt(proof.To.Add(-early), q.Targets), fmt.Sprint(got)) {
			return true
		}
	}
	w.Errorf("%s: %d targets at %v: complete with objects %v, want %v", label, len(q.Targets), proof.To.Sub(start), got, w.statesAt(proof.To, q.Targets))
	return true
}

// checkWithin replays a period with ReconcileGaps, and checks the resulting objects at random times within it for which the
// proof is complete.
func (w *world) checkWithin(r *Recording, label string, q Query) {
	w.Helper()
	q.ReconcileGaps = true
	var events []event.Event
	proof, err := r.Replay(w.Context(), q, event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		events = append(events, batch...)
		return nil
	}))
	w.must(err)
	for range 5 {
		at := q.From.Add(time.Duration(w.random.Int64N(int64(q.To.Sub(q.From)))))
		if !proof.AtInstant(at).IsComplete() {
			continue
		}
		objects := map[string]string{}
		for _, e := range events {
			if e.Type.IsStatus() || e.Time.After(at) {
				continue
			}
			key := e.Object.Kind + "/" + e.Object.Namespace + "/" + e.Object.Name
			switch {
			case e.Type == event.Deleted:
				delete(objects, key)
			default:
				objects[key] = key + " " + e.Object.ResourceVersion
			}
		}
		got := slices.Sorted(maps.Values(objects))
		isTrue := func(early time.Duration) bool {
			return slices.Contains(w.statesAt(at.Add(-early*time.Millisecond), q.Targets), fmt.Sprint(got))
		}
		if !slices.ContainsFunc([]time.Duration{10, 5, 3, 2, 1, 0}, isTrue) {
			w.Errorf("%s: within a period, at %v: complete with objects %v, want %v", label, at.Sub(start), got, w.statesAt(at, q.Targets))
		}
	}
}

// statesAt returns the objects that existed when the clock showed a time. There are several states if it did so more than once.
func (w *world) statesAt(at time.Time, targets []event.Target) (states []string) {
	epochs := append([]epoch{{}}, w.epochs...)
	for i, e := range epochs {
		real := at.Add(e.back)
		if !real.Before(e.begin) && (i == len(epochs)-1 || real.Before(epochs[i+1].begin)) {
			states = append(states, fmt.Sprint(w.stateAt(real, targets)))
		}
	}
	return states
}

// stateAt returns the objects that existed at a real time.
func (w *world) stateAt(real time.Time, targets []event.Target) (all []string) {
	objects := map[string]string{}
	for _, c := range w.truth {
		if c.real.After(real) || !slices.Contains(targets, c.target) {
			continue
		}
		parts := strings.Fields(c.text)
		if objects[parts[1]] = parts[2]; parts[0] == "DELETED" {
			delete(objects, parts[1])
		}
	}
	for key, version := range objects {
		all = append(all, key+" "+version)
	}
	slices.Sort(all)
	return all
}

// checkSpan checks the events of a period, if the result claims to be complete: each change within it must occur exactly once,
// except for changes within the lag before its end. It returns whether the result is complete.
func (w *world) checkSpan(r *Recording, label string, q Query) bool {
	w.Helper()
	got := map[string]int{}
	proof, err := r.Replay(w.Context(), q, event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			if !e.Type.IsStatus() && !e.Initial {
				got[fmt.Sprintf("%s %s/%s/%s %s", e.Type, e.Object.Kind, e.Object.Namespace, e.Object.Name, e.Object.ResourceVersion)]++
			}
		}
		return nil
	}))
	w.must(err)
	if !proof.IsComplete() {
		return false
	}
	for _, c := range w.truth {
		isInside := c.at.After(proof.From) && c.at.Before(proof.To.Add(-lag)) && slices.Contains(q.Targets, c.target)
		if isInside && got[c.text] != 1 {
			w.Errorf("%s: %v to %v is complete, but %q at %v occurs %d times, want once", label, proof.From.Sub(start), proof.To.Sub(start), c.text, c.at.Sub(start), got[c.text])
		}
	}
	return true
}
