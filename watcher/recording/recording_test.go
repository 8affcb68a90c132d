package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/testdata/object"
	"dwatch/watcher/event"
)

var (
	configMaps = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)}
	start      = time.Date(2026, 1, 31, 2, 0, 0, 0, time.UTC)
)

// at is a time of the tests: so many seconds after they begin.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func configMap(t testing.TB, name string, version int) event.Object {
	return object.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"odd":"%t"},"name":%q,"namespace":"a","resourceVersion":"%d","uid":"u-%s"},"data":{"n":"%d"}}`, version%2 == 1, name, version, name, version))
}

// testRun is a Recorder whose clock goes with what is delivered, and which hears heartbeats.
type testRun struct {
	*Recorder
	now    time.Time
	lost   bool // the connection is
	halted bool // the process did not run until now
}

// recorder opens a directory, and begins a run at the time that o says.
func recorder(t testing.TB, dir string, o Options) *testRun {
	t.Helper()
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	o.EncodeEvent, o.EncodeObject = encode, func(o event.Object) string { return o.Raw() }
	o.DescribeResource = func(schema.GroupVersionResource) metav1.APIResource {
		return metav1.APIResource{SingularName: "configmap", ShortNames: []string{"cm"}}
	}
	run := &testRun{Recorder: r, now: start}
	if o.Now != nil {
		run.now = o.Now()
	}
	o.Now = func() time.Time { return run.now }
	if err := r.StartRun(o, RunInfo{ClusterUID: "c"}, []event.Target{configMaps}); err != nil {
		t.Fatal(err)
	}
	return run
}

// deliver delivers events, and before them the heartbeats and bookmarks of the time until then. What
// was listed has no delay.
func deliver(t testing.TB, r *testRun, events ...event.Event) {
	t.Helper()
	for next := r.now.Add(HeartbeatInterval); next.Before(events[0].Time); next = next.Add(HeartbeatInterval) {
		r.now = next
		r.tick()
		beats := []event.Event{{Type: event.Heartbeat, Time: next}}
		if !r.lost {
			beats = append(beats, bookmark(next, next))
		}
		if err := r.Deliver(t.Context(), beats); err != nil {
			t.Fatal(err)
		}
	}
	if near := events[0].Time.Add(-time.Second); !events[0].Type.IsStatus() && !r.lost && near.After(r.now) && r.coverage.isCovered(configMaps.Key()) && !r.delayed {
		r.now = near
		r.tick()
		if err := r.Deliver(t.Context(), []event.Event{bookmark(near, near)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Type == event.Synced || e.Type == event.Gap {
			proof := bookmark(e.Time, e.Time)
			if e.Target.Mapping != nil {
				proof.Target = e.Target
			}
			events = slices.Insert(events, i+1, proof)
		}
	}
	for _, e := range events {
		r.now = later(r.now, e.Time)
		if e.Type.IsStatus() && !e.Type.IsKeepalive() {
			r.lost = e.Type.Phase() != event.PhaseLive
		}
	}
	for i := range events {
		if events[i].Target.Mapping == nil && events[i].Type != event.Heartbeat {
			events[i].Target = configMaps
		}
	}
	r.tick()
	if err := r.Deliver(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

// tick lets the process have run until now.
func (r *testRun) tick() {
	if !r.halted {
		r.clock.last = r.now
	}
	r.halted = false
}

func of(t testing.TB, kind event.Type, name string, version, seconds int) event.Event {
	return event.Event{Type: kind, Object: configMap(t, name, version), Time: at(seconds)}
}

func mark(kind event.Type, seconds int) event.Event {
	return event.Event{Type: kind, Time: at(seconds)}
}

// bookmark says that by now all that happened up to heard has come.
func bookmark(heard, now time.Time) event.Event {
	return event.Event{Type: event.Bookmark, Target: configMaps, Heard: heard, Time: now}
}

// proven is the bookmark of a watch that is not behind.
func proven(second int) event.Event { return bookmark(at(second), at(second)) }

// hour is a run of an hour: objects come, change and go, the connection is lost twice.
func hour(t testing.TB, r *testRun) {
	first := of(t, event.Added, "web", 1, 1)
	first.Initial = true
	deliver(t, r, first, mark(event.Synced, 2))
	deliver(t, r, of(t, event.Modified, "web", 2, 600), of(t, event.Added, "db", 3, 601))
	lost := mark(event.Disconnected, 1000)
	lost.Err, lost.Heard = errors.New("connection refused"), at(990)
	deliver(t, r, lost)
	deliver(t, r, mark(event.Reconnected, 1100))
	deliver(t, r, of(t, event.Modified, "db", 4, 1103)) // which happened while nothing came
	deliver(t, r, mark(event.Disconnected, 2000))
	gone := of(t, event.Deleted, "db", 7, 2100)
	gone.FinalStateUnknown, gone.Listed = true, true
	deliver(t, r, gone, mark(event.Gap, 2100))
	deliver(t, r, of(t, event.Modified, "web", 8, 3000))
	deliver(t, r, proven(3600))
}

func read(t testing.TB, dir string) *Recording {
	t.Helper()
	r, err := Read(context.Background(), Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// played is what Play delivers, in short, and what that rests on.
func played(t testing.TB, r *Recording, q Query) (events []string, proof *Proof) {
	t.Helper()
	if q.Targets == nil {
		q.Targets = []event.Target{configMaps}
	}
	proof, err := r.Replay(t.Context(), q, event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			text := string(e.Type)
			if !e.Type.IsStatus() {
				text += fmt.Sprintf(" %s %s", e.Object.Name, e.Object.ResourceVersion)
			}
			if e.Initial {
				text += " initial"
			}
			if !e.Old.IsZero() {
				text += " was " + e.Old.ResourceVersion
			}
			events = append(events, text)
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return events, proof
}

func gaps(p *Proof) (all []string) {
	for _, g := range p.Gaps {
		all = append(all, g.Describe(func(t time.Time) string { return fmt.Sprint(t.Sub(start).Seconds()) }))
	}
	return all
}

// TestPlay: what happened from one time to another, what it begins with, and what is not known.
func TestPlay(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	recording := read(t, dir)
	for _, test := range []struct {
		name     string
		from, to int // 0: none
		want     []string
		gaps     []string
	}{
		{"all", 0, 0, []string{"ADDED web 1 initial", "SYNCED", "MODIFIED web 2", "ADDED db 3", "DISCONNECTED", "RECONNECTED", "MODIFIED db 4", "DISCONNECTED", "DELETED db 7", "GAP", "MODIFIED web 8"},
			[]string{"not known: 1993 to 2100 (connection lost: the server does not answer; relisted, states in between are missing)"}},
		{"complete", 500, 900, []string{"ADDED web 1 initial", "SYNCED", "MODIFIED web 2", "ADDED db 3"}, nil},
		{"nothing", 1250, 1300, []string{"ADDED db 4 initial", "ADDED web 2 initial", "SYNCED"}, nil},
		{"its end is not in it", 600, 601, []string{"ADDED web 1 initial", "SYNCED", "MODIFIED web 2"}, nil},
		{"a loss in which nothing was missed", 900, 1150, []string{"ADDED db 3 initial", "ADDED web 2 initial", "SYNCED", "DISCONNECTED", "RECONNECTED", "MODIFIED db 4"}, nil},
		{"it ends in the loss, before that was noticed", 900, 995, []string{"ADDED db 3 initial", "ADDED web 2 initial", "SYNCED"},
			[]string{"not known: 991 to 995 (connection lost: connection refused; changes were recorded later than they happened)"}},
		{"it begins in the loss", 1050, 1150, []string{"ADDED db 3 initial", "ADDED web 2 initial", "SYNCED", "RECONNECTED", "MODIFIED db 4"},
			[]string{"not known: 1050 to 1103 (connection lost: connection refused; changes were recorded later than they happened)"}},
		{"before the begin", -100, 10, []string{"ADDED web 1 initial", "SYNCED"}, []string{"not known: -100 to 2 (not recorded)"}},
		{"after the end", 3300, 4000, []string{"ADDED web 8 initial", "SYNCED"}, []string{"not known: 3600 to 4000 (not confirmed by the server)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := Query{}
			if test.from != 0 {
				q.From = at(test.from)
			}
			if test.to != 0 {
				q.To = at(test.to)
			}
			got, proof := played(t, recording, q)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.gaps, gaps(proof)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAt: what was there at a time, or that it is not known.
func TestAt(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for seconds, want := range map[int]string{
		-1: "[] not recorded", 3: "[web 1]", 600: "[web 2]", 601: "[db 3 web 2]", 1000: "[db 3 web 2] connection lost",
		1100: "[db 3 web 2] connection lost", 1110: "[db 4 web 2]", 1200: "[db 4 web 2]", 2050: "[db 4 web 2] connection lost", 2100: "[web 2]", 3000: "[web 8]", 4000: "[web 8] not confirmed",
	} {
		objects, proof, err := read(t, dir).ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, at(seconds))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range objects {
			got = append(got, o.Name+" "+o.ResourceVersion)
			if !strings.Contains(o.Raw(), fmt.Sprintf(`"n":"%s"`, o.ResourceVersion)) {
				t.Errorf("%s", o.Raw())
			}
		}
		text := fmt.Sprint(got)
		list, why, unknown := strings.Cut(want, "] ")
		if list = strings.TrimSuffix(list, "]") + "]"; text != list || unknown == proof.IsComplete() || unknown && !strings.Contains(proof.Gaps[0].Reason, why) {
			t.Errorf("at %d: %s %v, want %s", seconds, text, gaps(proof), want)
		}
	}
}

// TestOldAndSelectors: the state before comes from the segment, and an object comes and goes as it
// matches labels.
func TestOldAndSelectors(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := played(t, read(t, dir), Query{From: at(500), IncludeOld: true})
	if want := "MODIFIED web 2 was 1"; got[2] != want {
		t.Errorf("%s, want %s", got, want)
	}
	odd, err := labels.Parse("odd=true")
	if err != nil {
		t.Fatal(err)
	}
	got, _ = played(t, read(t, dir), Query{From: at(500), To: at(1400), LabelSelector: odd})
	want := []string{"ADDED web 1 initial", "SYNCED", "DELETED web 2", "ADDED db 3", "DISCONNECTED", "RECONNECTED", "DELETED db 4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRuns: a run goes on from the one before, and the time between them is not known; nobody
// else may record meanwhile.
func TestRuns(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	if _, err := OpenRecorder(dir); err == nil || !strings.Contains(err.Error(), "another dwatch") {
		t.Errorf("a second one: %v", err)
	}
	r.release() // as a kill does
	r = recorder(t, dir, Options{Now: func() time.Time { return at(5000) }})
	var past []string
	complete, err := r.History(configMaps, func(o event.ReportedObject) { past = append(past, o.Name+" "+o.ResourceVersion) })
	if want := "[web 8]"; err != nil || !complete || fmt.Sprint(past) != want {
		t.Errorf("%v %v %v, want %s", past, complete, err, want)
	}
	deliver(t, r, of(t, event.Modified, "web", 9, 5001), mark(event.Synced, 5001))
	deliver(t, r, of(t, event.Modified, "web", 10, 6000))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, proof := played(t, read(t, dir), Query{From: at(2500)})
	if diff := cmp.Diff([]string{"ADDED web 2 initial", "SYNCED", "MODIFIED web 8", "MODIFIED web 9", "SYNCED", "MODIFIED web 10"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"not known: 3600 to 5001 (dwatch record did not run)"}, gaps(proof)); diff != "" {
		t.Error(diff)
	}
}

// TestZstd: any reader of zstd reads a recording, also of a run that was killed once the next has
// begun; each line is JSON.
func TestZstd(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	r.release()
	r = recorder(t, dir, Options{Now: func() time.Time { return at(5000) }})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	files, _, err := list(dir)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.DecodeAll(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		for one := range bytes.Lines(text) {
			if !json.Valid(one) {
				t.Errorf("%s", one)
			}
		}
		d.Close()
	}
}

// copyOf copies a recording, its last segment cut or changed.
func copyOf(t testing.TB, from string, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	files, _, err := list(from)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		data, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if i == len(files)-1 {
			data = change(data)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.path)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCut: wherever a segment is cut, what was there before is read, in order, the next run goes on
// from it, and what is missing is not said to be known.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	whole, _ := played(t, read(t, dir), Query{})
	r.release() // it has no end
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	longest, random := 0, rand.New(rand.NewPCG(3, 4))
	for size := int64(0); size <= files[0].size; size += 1 + random.Int64N(files[0].size/200) {
		cutDir := copyOf(t, dir, func(data []byte) []byte { return data[:size] })
		recording, err := Read(context.Background(), Dir(cutDir))
		if err != nil {
			if !errors.Is(err, ErrNoRecording) {
				t.Fatalf("at %d: %v", size, err)
			}
		} else {
			got, _ := played(t, recording, Query{})
			if len(got) < longest {
				t.Fatalf("at %d: %d events, and %d with less", size, len(got), longest)
			}
			longest = len(got)
			if len(got) > 1 && !cmp.Equal(got, whole[:len(got)]) {
				t.Fatalf("at %d: %v", size, got)
			}
			if _, proof := played(t, recording, Query{From: at(500), To: at(3600)}); proof.IsComplete() {
				t.Fatalf("at %d it is complete", size)
			}
		}
		if random.IntN(10) > 0 {
			continue
		}
		next := recorder(t, cutDir, Options{Now: func() time.Time { return at(5000) }})
		deliver(t, next, mark(event.Synced, 5001))
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		if _, proof := played(t, read(t, cutDir), Query{From: at(4000)}); proof.IsComplete() {
			t.Fatalf("at %d, and gone on: it is complete", size)
		}
	}
}

// TestDamage: bytes that changed cost what they are in, and never make a line that was not written
// or an answer that passes for complete where lines are missing.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	whole, _ := played(t, read(t, dir), Query{From: at(500)})
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		damagedDir := copyOf(t, dir, func(data []byte) []byte {
			for range 1 + random.IntN(3) {
				data[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
			}
			return data
		})
		recording, err := Read(context.Background(), Dir(damagedDir))
		if err != nil {
			if !errors.Is(err, ErrNoRecording) && !errors.Is(err, ErrUnreadable) {
				t.Fatal(err)
			}
			continue
		}
		got, proof := played(t, recording, Query{From: at(500), To: at(3700)})
		if proof.IsComplete() {
			t.Fatalf("complete: %v", got)
		}
		some, proof := played(t, recording, Query{From: at(500), To: at(950)})
		if len(some) < 4 && proof.IsComplete() {
			t.Fatalf("only %v, and that is complete", some)
		}
		for _, e := range got {
			if !strings.Contains(strings.Join(whole, "\n"), e) {
				t.Fatalf("%q is new", e)
			}
		}
		if n%10 > 0 {
			continue
		}
		next := recorder(t, damagedDir, Options{})
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForeign: what is no part of a recording, or is of a newer dwatch, is said, and the rest is read.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	hour(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"notes.zst": "x", "00000000-x.zst": "x", "00000007-x.zst": "no zstd", "README": "x", "00000008-x.zst": "",
		"00000009-x.zst": string(skippable(preamble + "2")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recording := read(t, dir)
	want := []string{
		"00000000-x.zst: not part of a recording", "notes.zst: not part of a recording", "00000007-x.zst: it is not a dwatch recording",
		"00000008-x.zst: it is empty", "00000009-x.zst: it was written by a newer dwatch, in format 2, and this one knows 1",
	}
	if diff := cmp.Diff(want, recording.Warnings()); diff != "" {
		t.Error(diff)
	}
	if got, _ := played(t, recording, Query{}); len(got) < 10 {
		t.Errorf("%v", got)
	}
	if _, err := Read(context.Background(), Dir(filepath.Join(dir, "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Read(context.Background(), Dir(filepath.Join(dir, "README"))); err == nil {
		t.Error("a file is a recording")
	}
	if _, err := Read(context.Background(), Dir(t.TempDir())); !errors.Is(err, ErrNoRecording) {
		t.Error(err)
	}
}

// TestSegments: a long run makes segments, of which the oldest are dropped; each begins with what is
// there, and all of them together say what each time says.
func TestSegments(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{MaxSize: 400 << 10})
	random := rand.New(rand.NewPCG(1, 2))
	deliver(t, r, mark(event.Synced, 0))
	const objects, changes = 20, 6000
	versions := map[string][objects]int{} // by the second
	var last [objects]int
	for n := 1; n <= changes; n++ {
		name := random.IntN(objects)
		kind := event.Modified
		if last[name] == 0 {
			kind = event.Added
		}
		last[name] = n
		e := of(t, kind, fmt.Sprint("o", name), n, n)
		noise := make([]byte, 200)
		for i := range noise {
			noise[i] = 'a' + byte(random.IntN(26))
		}
		e.Object = event.NewObject(e.Object.Identity, strings.Replace(e.Object.Raw(), `"n":`, `"noise":"`+string(noise)+`","n":`, 1))
		if deliver(t, r, e); n%5 == 0 {
			deliver(t, r, proven(n))
		}
		versions[fmt.Sprint(n)] = last
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	if len(files) < segmentShare-2 || files[0].number == 1 || total > 450<<10 {
		t.Fatalf("%d segments of %d bytes, the first is %d", len(files), total, files[0].number)
	}
	recording := read(t, dir)
	from := int(recording.StartTime().Sub(start).Seconds()) + 1
	for range 20 {
		second := from + random.IntN(changes-from)
		objects, proof, err := recording.ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, at(second))
		if err != nil || !proof.IsComplete() {
			t.Fatal(err, gaps(proof))
		}
		want := versions[fmt.Sprint(second)]
		for _, o := range objects {
			var name int
			fmt.Sscanf(o.Name, "o%d", &name)
			if fmt.Sprint(want[name]) != o.ResourceVersion {
				t.Errorf("at %d %s is %s, want %d", second, o.Name, o.ResourceVersion, want[name])
			}
		}
	}
	got, proof := played(t, recording, Query{From: at(from), To: at(changes + 1)})
	if n := len(got) - len(last) - 1; n != changes+1-from || len(gaps(proof)) != 1 {
		t.Errorf("%d changes of %d, %v", n, changes+1-from, gaps(proof))
	}
	// A segment that is lost is a gap.
	if err := os.Remove(files[len(files)/2].path); err != nil {
		t.Fatal(err)
	}
	if _, proof := played(t, read(t, dir), Query{From: at(from), To: at(changes)}); len(gaps(proof)) != 1 || !strings.Contains(gaps(proof)[0], "a part of the recording is missing") {
		t.Error(gaps(proof))
	}
}
