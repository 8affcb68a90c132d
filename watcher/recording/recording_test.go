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

// at returns the time a number of seconds after start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func configMap(t testing.TB, name string, version int) event.Object {
	return object.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"odd":"%t"},"name":%q,"namespace":"a","resourceVersion":"%d","uid":"u-%s"},"data":{"n":"%d"}}`, version%2 == 1, name, version, name, version))
}

// testRun is a Recorder with a clock that follows the delivered events.
type testRun struct {
	*Recorder
	now       time.Time
	lost      bool // the connection is lost, and deliver adds no bookmarks
	suspended bool // the process did not run until now
}

// recorder opens a directory, and starts a run at o.Now, or at start if o.Now is nil.
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

// deliver delivers events. Before them, it delivers heartbeats and bookmarks up to their time. After SYNCED and GAP events, it
// adds a bookmark that confirms their time.
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

// tick tells the clock monitor that the process has run until now, unless suspended is set, which it resets.
func (r *testRun) tick() {
	if !r.suspended {
		r.clock.last = r.now
	}
	r.suspended = false
}

// of returns an event of a ConfigMap.
func of(t testing.TB, kind event.Type, name string, version, seconds int) event.Event {
	return event.Event{Type: kind, Object: configMap(t, name, version), Time: at(seconds)}
}

// statusEvent returns a status event, whose target deliver sets.
func statusEvent(kind event.Type, seconds int) event.Event {
	return event.Event{Type: kind, Time: at(seconds)}
}

// bookmark returns a BOOKMARK event at time now, which confirms that all events up to heard have been delivered.
func bookmark(heard, now time.Time) event.Event {
	return event.Event{Type: event.Bookmark, Target: configMaps, Heard: heard, Time: now}
}

// proven returns the bookmark of a watch without a lag.
func proven(second int) event.Event { return bookmark(at(second), at(second)) }

// recordHour records an hour, in which objects are created, modified and deleted, and the connection is lost twice.
func recordHour(t testing.TB, r *testRun) {
	first := of(t, event.Added, "web", 1, 1)
	first.Initial = true
	deliver(t, r, first, statusEvent(event.Synced, 2))
	deliver(t, r, of(t, event.Modified, "web", 2, 600), of(t, event.Added, "db", 3, 601))
	lost := statusEvent(event.Disconnected, 1000)
	lost.Err, lost.Heard = errors.New("connection refused"), at(990)
	deliver(t, r, lost)
	deliver(t, r, statusEvent(event.Reconnected, 1100))
	deliver(t, r, of(t, event.Modified, "db", 4, 1103)) // happened while the connection was lost
	deliver(t, r, statusEvent(event.Disconnected, 2000))
	gone := of(t, event.Deleted, "db", 7, 2100)
	gone.FinalStateUnknown, gone.Listed = true, true
	deliver(t, r, gone, statusEvent(event.Gap, 2100))
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

// played calls Replay, and returns its events in short form and its proof.
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

// gaps returns descriptions of the gaps, with times in seconds after start.
func gaps(p *Proof) (all []string) {
	for _, g := range p.Gaps {
		all = append(all, g.Describe(func(t time.Time) string { return fmt.Sprint(t.Sub(start).Seconds()) }))
	}
	return all
}

// TestReplay checks the initial objects, events and gaps that a query between two times returns.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	recording := read(t, dir)
	for _, test := range []struct {
		name     string
		from, to int // zero means the start or the end of the recording
		want     []string
		gaps     []string
	}{
		{"all", 0, 0, []string{"ADDED web 1 initial", "SYNCED", "MODIFIED web 2", "ADDED db 3", "DISCONNECTED", "RECONNECTED", "MODIFIED db 4", "DISCONNECTED", "DELETED db 7", "GAP", "MODIFIED web 8"},
			[]string{"not known: 1993 to 2100 (connection lost: the server does not answer; relisted, states in between are missing)"}},
		{"complete", 500, 900, []string{"ADDED web 1 initial", "SYNCED", "MODIFIED web 2", "ADDED db 3"}, nil},
		{"nothing", 1250, 1300, []string{"ADDED db 4 initial", "ADDED web 2 initial", "SYNCED"}, nil},
		{"the end is exclusive", 600, 601, []string{"ADDED web 1 initial", "SYNCED", "MODIFIED web 2"}, nil},
		{"a loss in which nothing was missed", 900, 1150, []string{"ADDED db 3 initial", "ADDED web 2 initial", "SYNCED", "DISCONNECTED", "RECONNECTED", "MODIFIED db 4"}, nil},
		{"ends in a loss, before dwatch noticed it", 900, 995, []string{"ADDED db 3 initial", "ADDED web 2 initial", "SYNCED"},
			[]string{"not known: 991 to 995 (connection lost: connection refused; changes were recorded later than they happened)"}},
		{"begins in a loss", 1050, 1150, []string{"ADDED db 3 initial", "ADDED web 2 initial", "SYNCED", "RECONNECTED", "MODIFIED db 4"},
			[]string{"not known: 1050 to 1103 (connection lost: connection refused; changes were recorded later than they happened)"}},
		{"begins before the recording", -100, 10, []string{"ADDED web 1 initial", "SYNCED"}, []string{"not known: -100 to 2 (not recorded)"}},
		{"ends after the recording", 3300, 4000, []string{"ADDED web 8 initial", "SYNCED"}, []string{"not known: 3600 to 4000 (not confirmed by the server)"}},
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

// TestObjectsAt checks which objects existed at a time, and the reason if they are not completely known.
func TestObjectsAt(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
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
				t.Errorf("at %d: version %s has content %s", seconds, o.ResourceVersion, o.Raw())
			}
		}
		text := fmt.Sprint(got)
		list, why, unknown := strings.Cut(want, "] ")
		if list = strings.TrimSuffix(list, "]") + "]"; text != list || unknown == proof.IsComplete() || unknown && !strings.Contains(proof.Gaps[0].Reason, why) {
			t.Errorf("at %d: got %s, gaps %v, want %s", seconds, text, gaps(proof), want)
		}
	}
}

// TestOldAndSelectors checks that events have the previous state of an object, and that objects are added and deleted when they
// begin and cease to match a label selector.
func TestOldAndSelectors(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := played(t, read(t, dir), Query{From: at(500), IncludeOld: true})
	if want := "MODIFIED web 2 was 1"; got[2] != want {
		t.Errorf("got %q, want %q as third event", got, want)
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

// TestRuns checks that a run continues the previous one, that the time between two runs is a gap, and that two processes can't
// record into one directory at the same time.
func TestRuns(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
	if _, err := OpenRecorder(dir); err == nil || !strings.Contains(err.Error(), "another dwatch") {
		t.Errorf("second recorder: got %v, want an error", err)
	}
	r.release() // as if the process were killed
	r = recorder(t, dir, Options{Now: func() time.Time { return at(5000) }})
	var past []string
	complete, err := r.History(configMaps, func(o event.ReportedObject) { past = append(past, o.Name+" "+o.ResourceVersion) })
	if want := "[web 8]"; err != nil || !complete || fmt.Sprint(past) != want {
		t.Errorf("history: got %v, complete %t, %v, want %s, complete", past, complete, err, want)
	}
	deliver(t, r, of(t, event.Modified, "web", 9, 5001), statusEvent(event.Synced, 5001))
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

// TestZstd checks that any zstd decoder can read a recording, and that each line is JSON. The last segment of a killed run is
// readable once the next run has started.
func TestZstd(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
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
				t.Errorf("line is not JSON: %s", one)
			}
		}
		d.Close()
	}
}

// copyOf copies a recording, and changes its last segment.
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

// TestTruncated truncates a segment at many offsets. Readers must return the events before that in order and report the gap,
// and the next run must continue the recording.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
	whole, _ := played(t, read(t, dir), Query{})
	r.release() // the segment has no index
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	longest, random := 0, rand.New(rand.NewPCG(3, 4))
	for size := int64(0); size <= files[0].size; size += 1 + random.Int64N(files[0].size/200) {
		truncatedDir := copyOf(t, dir, func(data []byte) []byte { return data[:size] })
		recording, err := Read(context.Background(), Dir(truncatedDir))
		if err != nil {
			if !errors.Is(err, ErrNoRecording) {
				t.Fatalf("truncated to %d bytes: %v", size, err)
			}
		} else {
			got, _ := played(t, recording, Query{})
			if len(got) < longest {
				t.Fatalf("truncated to %d bytes: got %d events, and %d with fewer bytes", size, len(got), longest)
			}
			longest = len(got)
			if len(got) > 1 && !cmp.Equal(got, whole[:len(got)]) {
				t.Fatalf("truncated to %d bytes: got %v, want the start of %v", size, got, whole)
			}
			if _, proof := played(t, recording, Query{From: at(500), To: at(3600)}); proof.IsComplete() {
				t.Fatalf("truncated to %d bytes: 500 to 3600 is complete", size)
			}
		}
		if random.IntN(10) > 0 {
			continue
		}
		next := recorder(t, truncatedDir, Options{Now: func() time.Time { return at(5000) }})
		deliver(t, next, statusEvent(event.Synced, 5001))
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		if _, proof := played(t, read(t, truncatedDir), Query{From: at(4000)}); proof.IsComplete() {
			t.Fatalf("truncated to %d bytes, with another run: 4000 to the end is complete", size)
		}
	}
}

// TestDamage changes up to three bytes of a recording. Readers must never return an event that was not written, nor claim to be
// complete if events are missing.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
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
			t.Fatalf("500 to 3700 is complete: %v", got)
		}
		some, proof := played(t, recording, Query{From: at(500), To: at(950)})
		if len(some) < 4 && proof.IsComplete() {
			t.Fatalf("500 to 950 is complete with too few events: %v", some)
		}
		for _, e := range got {
			if !strings.Contains(strings.Join(whole, "\n"), e) {
				t.Fatalf("got event %q, which was never written", e)
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

// TestForeign checks that files that are not part of a recording, or that a newer dwatch wrote, are reported and do not prevent
// reading the others.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	recordHour(t, r)
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
		t.Errorf("got %v, want all events", got)
	}
	if _, err := Read(context.Background(), Dir(filepath.Join(dir, "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: got %v, want %v", err, os.ErrNotExist)
	}
	if _, err := Read(context.Background(), Dir(filepath.Join(dir, "README"))); err == nil {
		t.Error("a file in place of a directory: got no error")
	}
	if _, err := Read(context.Background(), Dir(t.TempDir())); !errors.Is(err, ErrNoRecording) {
		t.Errorf("empty directory: got %v, want %v", err, ErrNoRecording)
	}
}

// TestSegments checks that a long run begins further segments and removes the oldest, that queries over several segments return
// the right objects and events, and that a missing segment is a gap.
func TestSegments(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{MaxSize: 400 << 10})
	random := rand.New(rand.NewPCG(1, 2))
	deliver(t, r, statusEvent(event.Synced, 0))
	const objects, changes = 20, 6000
	versions := map[string][objects]int{} // versions of all objects, by second
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
		t.Fatalf("got %d segments with %d bytes, the first is number %d, want at least %d with 450 KiB at most, and a later first one", len(files), total, files[0].number, segmentShare-2)
	}
	recording := read(t, dir)
	from := int(recording.StartTime().Sub(start).Seconds()) + 1
	for range 20 {
		second := from + random.IntN(changes-from)
		objects, proof, err := recording.ObjectsAt(t.Context(), Query{Targets: []event.Target{configMaps}}, at(second))
		if err != nil || !proof.IsComplete() {
			t.Fatalf("objects at %d: %v, gaps %v", second, err, gaps(proof))
		}
		want := versions[fmt.Sprint(second)]
		for _, o := range objects {
			var name int
			fmt.Sscanf(o.Name, "o%d", &name)
			if fmt.Sprint(want[name]) != o.ResourceVersion {
				t.Errorf("at %d: %s has version %s, want %d", second, o.Name, o.ResourceVersion, want[name])
			}
		}
	}
	got, proof := played(t, recording, Query{From: at(from), To: at(changes + 1)})
	if n := len(got) - len(last) - 1; n != changes+1-from || len(gaps(proof)) != 1 {
		t.Errorf("got %d changes, gaps %v, want %d changes and one gap", n, gaps(proof), changes+1-from)
	}
	if err := os.Remove(files[len(files)/2].path); err != nil {
		t.Fatal(err)
	}
	if _, proof := played(t, read(t, dir), Query{From: at(from), To: at(changes)}); len(gaps(proof)) != 1 || !strings.Contains(gaps(proof)[0], "a part of the recording is missing") {
		t.Errorf("missing segment: got gaps %v, want one", gaps(proof))
	}
}
