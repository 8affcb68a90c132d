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

var modelSeeds = flag.Int("seeds", 60, "how many lives of a recording TestNeverFalselyComplete plays")

// world is a model of a server and of runs that record it. What happened is the truth; each watch
// passes on what happened up to a time, which is what an answer may rest on, and never on more.
type world struct {
	testing.TB
	random  *rand.Rand
	dir     string
	now     time.Time // the clock of the machine
	epochs  []epoch   // between its steps
	there   map[string]string
	truth   []happened
	version int

	recorder *Recorder
	watches  []*watched
	asleep   bool // the recorder did not run until now
}

// happened is one change, after which that was there.
type happened struct {
	at    time.Time
	real  time.Time
	text  string
	after string
	of    event.Target
}

// epoch is a time in which the clock of the machine was not put back.
type epoch struct {
	begin time.Time     // real
	back  time.Duration // in all
}

func (w *world) back() time.Duration {
	if len(w.epochs) == 0 {
		return 0
	}
	return w.epochs[len(w.epochs)-1].back
}

// stepBack puts the clock back. What the server has confirmed is then said by the new clock.
func (w *world) stepBack() {
	step := time.Duration(11+w.random.IntN(1500)) * time.Millisecond
	w.epochs = append(w.epochs, epoch{w.now.Add(w.back()), w.back() + step})
	w.now = w.now.Add(-step)
	for _, one := range w.watches {
		if !one.told.IsZero() {
			one.told = one.told.Add(-step)
		}
	}
}

// watched is one watch of a run.
type watched struct {
	of     event.Target
	seen   int // of truth
	shown  map[string]string
	isLost bool // with or without a mark
	silent bool // nobody has noticed
	// isStalled: nothing comes, and what happens comes later.
	isStalled bool
	// told is when the server was asked last where it is: by the line that follows, all that
	// happened up to then has been shown.
	told   time.Time
	synced bool
}

var modelTargets = []event.Target{
	{Mapping: configMaps.Mapping, Namespace: "a"}, {Mapping: configMaps.Mapping, Namespace: "b"},
	{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true), Namespace: "a"},
}

// TestNeverFalselyComplete plays random lives of a recording: changes, connections that die with and
// without a sign, runs that are killed, suspended, ended, or begun with other targets, clocks that are
// put back, segments that are cut, removed or changed at random bytes. Whatever is said to be complete
// then is.
func TestNeverFalselyComplete(t *testing.T) {
	seeds := *modelSeeds
	if testing.Short() || race.Enabled { // which has nothing to find in it: nothing runs side by side
		seeds = min(seeds, 10)
	}
	complete := 0
	for seed := range seeds {
		w := &world{TB: t, random: rand.New(rand.NewPCG(uint64(seed), 7)), dir: t.TempDir(), now: start, there: map[string]string{}}
		w.live()
		complete += w.ask(fmt.Sprint("seed ", seed))
		for n := range 6 {
			hurt := *w
			hurt.dir = t.TempDir()
			how := hurt.damage(w.dir)
			complete += hurt.ask(fmt.Sprint("seed ", seed, ", ", n, ": ", how))
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d answers were complete", complete)
	if complete < seeds*5 {
		t.Error("too little is known")
	}
}

// live lets some minutes pass.
func (w *world) live() {
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

// begin begins a run of some of the targets.
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
			w.watches = append(w.watches, &watched{of: t, shown: map[string]string{}})
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
			break // it begins as if there were no recording
		}
		_, err := r.History(one.of, func(o event.ReportedObject) { one.shown[o.Namespace+"/"+o.Name] = o.ResourceVersion })
		w.must(err)
	}
	for _, one := range w.watches {
		w.pass(time.Duration(w.random.IntN(300)) * time.Millisecond)
		w.relist(one)
	}
}

func (w *world) deliver(events ...event.Event) {
	if !w.asleep {
		w.recorder.clock.last = w.now
	}
	w.asleep = false
	w.must(w.recorder.Deliver(context.Background(), events))
}

// pass lets time pass, in which there are heartbeats and bookmarks.
func (w *world) pass(d time.Duration) {
	end := w.now.Add(d)
	for next := w.now.Truncate(HeartbeatInterval).Add(HeartbeatInterval); !next.After(end); next = next.Add(HeartbeatInterval) {
		w.now = next
		if w.recorder == nil {
			continue
		}
		w.deliver(event.Event{Type: event.Heartbeat, Time: w.now})
		for _, one := range w.watches {
			if one.isLost || one.silent || one.isStalled {
				continue
			}
			switch w.random.IntN(4) {
			case 0: // a new connection, after which all there is has come
				one.told = w.now
				w.bookmark(one)
			case 1: // what was asked was long ago
				w.bookmark(one)
			}
		}
		for _, one := range w.watches {
			if one.silent && w.random.IntN(5) == 0 {
				w.notice(one)
			} else if one.isLost && w.random.IntN(2) == 0 {
				w.reconnect(one)
			}
		}
	}
	w.now = end
}

// change changes something, of which the watches learn.
func (w *world) change() { w.changeOf(modelTargets[w.random.IntN(len(modelTargets))]) }

func (w *world) changeOf(t event.Target) {
	name := fmt.Sprint("o", w.random.IntN(4))
	key := t.Mapping.GroupVersionKind.Kind + "/" + t.Namespace + "/" + name
	w.version++
	version := fmt.Sprint(w.version)
	before, was := w.there[key]
	kind := "MODIFIED"
	switch {
	case !was:
		kind = "ADDED"
		w.there[key] = version
	case w.random.IntN(4) == 0:
		kind, version = "DELETED", before
		delete(w.there, key)
	default:
		w.there[key] = version
	}
	w.now = w.now.Add(time.Duration(1+w.random.IntN(20)) * time.Millisecond)
	w.truth = append(w.truth, happened{w.now, w.now.Add(w.back()), kind + " " + key + " " + version, "", t})
	if w.recorder == nil {
		return
	}
	for _, one := range w.watches {
		if !one.isLost && !one.silent && !one.isStalled && one.of == t {
			w.now = w.now.Add(time.Millisecond)
			w.show(one, w.truth[len(w.truth)-1], false)
			one.seen = len(w.truth)
		}
	}
}

func (w *world) object(key, version string) event.Object {
	parts := strings.Split(key, "/")
	return object.Parse(w, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":%q,"resourceVersion":%q,"uid":"u"}}`, parts[0], parts[2], parts[1], version))
}

func (w *world) show(one *watched, h happened, listed bool) {
	parts := strings.Fields(h.text)
	e := event.Event{Type: event.Type(parts[0]), Target: one.of, Object: w.object(parts[1], parts[2]), Time: w.now, Listed: listed}
	short := strings.SplitN(parts[1], "/", 2)[1]
	if one.shown[short] = parts[2]; e.Type == event.Deleted {
		delete(one.shown, short)
	}
	w.deliver(e)
}

// relist shows all that is there, and what is not any more.
func (w *world) relist(one *watched) {
	prefix := one.of.Mapping.GroupVersionKind.Kind + "/"
	var keys []string
	for key := range w.there {
		if strings.HasPrefix(key, prefix+one.of.Namespace+"/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		w.now = w.now.Add(time.Millisecond)
		short := strings.TrimPrefix(key, prefix)
		switch was, isThere := one.shown[short]; {
		case !isThere:
			w.show(one, happened{text: "ADDED " + key + " " + w.there[key]}, true)
		case was != w.there[key]:
			w.show(one, happened{text: "MODIFIED " + key + " " + w.there[key]}, true)
		}
	}
	for short, was := range one.shown {
		if _, isThere := w.there[prefix+short]; !isThere {
			w.show(one, happened{text: "DELETED " + prefix + short + " " + was}, true)
		}
	}
	kind := event.Synced
	if one.synced {
		kind = event.Gap
	}
	one.synced, one.isLost, one.silent, one.seen = true, false, false, len(w.truth)
	w.deliver(event.Event{Type: kind, Target: one.of, Time: w.now})
	one.told = w.now
	if w.random.IntN(4) == 0 { // the list took long, and things have happened
		w.pause()
		w.happen(one.of, w.random.IntN(3))
		w.bookmark(one)
		w.catchUp(one)
	}
	w.bookmark(one)
}

// bookmark says up to when all that happened has been shown.
func (w *world) bookmark(one *watched) {
	w.deliver(event.Event{Type: event.Bookmark, Target: one.of, Time: w.now, Heard: one.told})
}

// happen changes things of which a watch does not learn at once.
func (w *world) happen(of event.Target, n int) {
	r := w.recorder
	w.recorder = nil
	for range n {
		w.changeOf(of)
	}
	w.recorder = r
}

// lose loses a connection, which is noticed at once or later.
func (w *world) lose(noticed bool) {
	one := w.watches[w.random.IntN(len(w.watches))]
	if one.isLost || one.silent {
		return
	}
	if one.silent = true; noticed {
		w.notice(one)
	}
}

func (w *world) notice(one *watched) {
	one.silent, one.isLost = false, true
	w.deliver(event.Event{Type: event.Disconnected, Target: one.of, Time: w.now, Err: errors.New("lost"), Heard: one.told})
}

// reconnect goes on where the watch was, or has to list.
func (w *world) reconnect(one *watched) {
	w.now = w.now.Add(time.Millisecond)
	if w.random.IntN(2) == 0 {
		w.relist(one)
		return
	}
	one.isLost = false
	w.deliver(event.Event{Type: event.Reconnected, Target: one.of, Time: w.now})
	if w.random.IntN(4) == 0 {
		one.silent = true // nothing of it has come, and soon it is lost again
		w.bookmark(one)
		return
	}
	if w.random.IntN(2) == 0 {
		one.told = w.now
		w.pause()
		w.happen(one.of, w.random.IntN(3)) // while it catches up
	}
	w.catchUp(one)
	if w.random.IntN(2) == 0 {
		one.told = w.now
	}
	if w.random.IntN(3) > 0 {
		w.bookmark(one)
	}
}

// pause lets more time pass than a watch that has caught up may be behind.
func (w *world) pause() {
	w.now = w.now.Add(time.Duration(5001+w.random.IntN(2000)) * time.Millisecond)
}

// catchUp shows what a watch has not shown yet.
func (w *world) catchUp(one *watched) {
	for _, h := range w.truth[one.seen:] {
		if h.of == one.of {
			w.now = w.now.Add(time.Duration(w.random.IntN(900)) * time.Millisecond)
			w.show(one, h, false)
		}
	}
	one.seen = len(w.truth)
}

// suspend: the recorder sleeps, things happen, and it gets to know of them later.
func (w *world) suspend() {
	r := w.recorder
	w.recorder = nil
	r.clock.last = w.now
	w.now = w.now.Add(time.Duration(3000+w.random.IntN(1+w.random.IntN(100000))) * time.Millisecond)
	for range w.random.IntN(4) {
		w.change()
	}
	w.now = w.now.Add(time.Duration(w.random.IntN(1+w.random.IntN(100))) * time.Second)
	w.recorder, w.asleep = r, true
	for _, one := range w.watches {
		if one.isLost || one.silent {
			continue
		}
		if w.random.IntN(2) == 0 { // it had waited, and more waits behind it
			w.bookmark(one)
		}
		w.catchUp(one)
		if w.random.IntN(2) == 0 {
			one.told = w.now
			w.bookmark(one)
		}
	}
}

// stall: the connection of a watch stands still, and goes on, without a loss.
func (w *world) stall() {
	one := w.watches[w.random.IntN(len(w.watches))]
	if one.isLost || one.silent {
		return
	}
	one.isStalled = true
	w.pass(time.Duration(8000+w.random.IntN(40000)) * time.Millisecond)
	w.happen(one.of, w.random.IntN(3))
	w.pass(time.Duration(w.random.IntN(4000)) * time.Millisecond)
	one.isStalled = false
	asked := w.now // in it, or when it was over
	if w.random.IntN(2) == 0 {
		asked = asked.Add(-time.Duration(w.random.IntN(4000)) * time.Millisecond)
	}
	w.catchUp(one)
	if asked.Before(one.told) {
		return
	}
	one.told = time.Time{} // it was late
	w.bookmark(one)
	one.told = asked
	w.bookmark(one)
}

// damage copies the recording, and damages it.
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

// withoutFrame leaves out one frame.
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

// ask asks for random times and spans, and returns how many answers were complete.
func (w *world) ask(what string) (complete int) {
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
		if w.checkAt(r, what, q, to) {
			complete++
		}
		if from.Before(to) && w.checkSpan(r, what, q) {
			complete++
		}
		if from.Before(to) && n%7 == 0 { // it takes as long as all the rest
			w.checkWithin(r, what, q)
		}
	}
	w.checkSpan(r, what, Query{Targets: modelTargets[:1]})
	w.checkAt(r, what, Query{Targets: modelTargets[:1]}, time.Time{})
	return complete
}

func (w *world) between(length time.Duration) time.Time {
	if len(w.epochs) > 0 && w.random.IntN(4) == 0 { // where the clock was put back
		e := w.epochs[w.random.IntN(len(w.epochs))]
		near := e.begin.Add(-e.back + time.Duration(w.random.IntN(3000)-500)*time.Millisecond)
		if near.After(start) {
			return near.Truncate(time.Millisecond)
		}
	}
	return start.Add(time.Duration(w.random.Int64N(int64(length)))).Truncate(time.Millisecond)
}

// lag is how much later than it happened something is seen by a watch that is well.
const lag = 10 * time.Millisecond

// checkAt: what was there at a time is what the truth says, for some time within the lag.
func (w *world) checkAt(r *Recording, what string, q Query, at time.Time) bool {
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
	w.Errorf("%s: at %v %d targets: complete, and %v; it was %v", what, proof.To.Sub(start), len(q.Targets), got, w.statesAt(proof.To, q.Targets))
	return true
}

// checkWithin: who has all that happened in some time knows what was there at each moment of it, where the
// proof says so.
func (w *world) checkWithin(r *Recording, what string, q Query) {
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
		there := map[string]string{}
		for _, e := range events {
			if e.Type.IsStatus() || e.Time.After(at) {
				continue
			}
			key := e.Object.Kind + "/" + e.Object.Namespace + "/" + e.Object.Name
			switch {
			case e.Type == event.Deleted:
				delete(there, key)
			default:
				there[key] = key + " " + e.Object.ResourceVersion
			}
		}
		got := slices.Sorted(maps.Values(there))
		isTrue := func(early time.Duration) bool {
			return slices.Contains(w.statesAt(at.Add(-early*time.Millisecond), q.Targets), fmt.Sprint(got))
		}
		if !slices.ContainsFunc([]time.Duration{10, 5, 3, 2, 1, 0}, isTrue) {
			w.Errorf("%s: within a span at %v: complete, and %v; it was %v", what, at.Sub(start), got, w.statesAt(at, q.Targets))
		}
	}
}

// statesAt returns what was there whenever the clock showed a time.
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

func (w *world) stateAt(real time.Time, targets []event.Target) (all []string) {
	there := map[string]string{}
	for _, h := range w.truth {
		if h.real.After(real) || !slices.Contains(targets, h.of) {
			continue
		}
		parts := strings.Fields(h.text)
		if there[parts[1]] = parts[2]; parts[0] == "DELETED" {
			delete(there, parts[1])
		}
	}
	for key, version := range there {
		all = append(all, key+" "+version)
	}
	slices.Sort(all)
	return all
}

// checkSpan: of what happened in a span that is said to be complete nothing is missing, and nothing
// is there that did not happen, but for the lag at its ends.
func (w *world) checkSpan(r *Recording, what string, q Query) bool {
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
	for _, h := range w.truth {
		in := h.at.After(proof.From) && h.at.Before(proof.To.Add(-lag)) && slices.Contains(q.Targets, h.of)
		if in && got[h.text] != 1 {
			w.Errorf("%s: %v to %v is complete, and %q at %v is there %d times", what, proof.From.Sub(start), proof.To.Sub(start), h.text, h.at.Sub(start), got[h.text])
		}
	}
	return true
}
