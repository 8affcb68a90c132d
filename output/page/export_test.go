package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// TestBundled tests that the bundled script has all modules, each after its imports.
func TestBundled(t *testing.T) {
	t.Parallel()
	script, err := bundled()
	if err != nil {
		t.Fatal(err)
	}
	files, err := embedded.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".js") && strings.Count(script, fmt.Sprintf("modules[%q] = (", f.Name())) != 1 {
			t.Errorf("%s is not in it once", f.Name())
		}
	}
	for _, m := range regexp.MustCompile(`= modules\["(.+)"\];`).FindAllStringSubmatchIndex(script, -1) {
		if at := strings.Index(script, fmt.Sprintf("modules[%q] = (", script[m[2]:m[3]])); at < 0 || at > m[0] {
			t.Errorf("%s is imported before it is there", script[m[2]:m[3]])
		}
	}
}

var eventsOf = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event", true)}

// played records events, without those after a time.
func played(all []event.Event) *Recording {
	return &Recording{Replay: func(ctx context.Context, until time.Time, sink event.Sink) (Coverage, error) {
		known := Coverage{From: at(0), To: all[len(all)-1].Time}
		known.StateGaps = []Gap{{From: at(0), To: known.To.Add(1), Reason: "cut off"}}
		part := slices.DeleteFunc(slices.Clone(all), func(e event.Event) bool { return e.Time.After(until) })
		if len(part) == 0 {
			return known, nil
		}
		return known, sink.Deliver(ctx, part)
	}}
}

// kubeEvent is an Event of Kubernetes about a pod.
func kubeEvent(name, version, message string) event.Object {
	return object("Event", name, name, version, `},"type":"Warning","reason":"Odd","message":"`+message+`","involvedObject":{"kind":"Pod","namespace":"shop","name":"a","uid":"a"}`)
}

// exported is the parsed content of an exported file.
type exported struct {
	*ExportResult
	text     string
	about    exportedAbout
	begin    []message
	messages []message
	contents []message
}

var exportedBlock = regexp.MustCompile(`<script type="text/plain" class="exported-(\w+)">([^<]*)</script>`)

func export1(t *testing.T, max int, all []event.Event) *exported {
	t.Helper()
	o := newHub().Options
	o.Recording = played(all)
	o.Compare = change.Options{Masks: &change.Masks{Secrets: true, Key: []byte("k")}}
	var b strings.Builder
	found, err := Export(t.Context(), o, max, &b)
	if err != nil {
		t.Fatal(err)
	}
	x := &exported{ExportResult: found, text: b.String()}
	if len(x.text) > max || len(x.text) != found.Bytes {
		t.Errorf("it has %d bytes, of %d, and says %d", len(x.text), max, found.Bytes)
	}
	for _, m := range exportedBlock.FindAllStringSubmatch(x.text, -1) {
		lines := unpacked(t, m[2])
		switch m[1] {
		case "about":
			if err := json.Unmarshal(lines[0], &x.about); err != nil {
				t.Fatal(err)
			}
		case "begin", "messages", "contents":
			to := map[string]*[]message{"begin": &x.begin, "messages": &x.messages, "contents": &x.contents}[m[1]]
			for _, line := range lines {
				*to = append(*to, decode(t, line))
			}
		}
	}
	return x
}

func unpacked(t *testing.T, text string) [][]byte {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(plain, []byte("\n")), []byte("\n"))
}

// noisePod is a pod with so much that can't be compressed.
func noisePod(name string, version, bytes int) event.Object {
	random := make([]byte, bytes)
	rand.Read(random)
	return object("Pod", name, name, fmt.Sprint(version), `},"spec":{"text":"`+hex.EncodeToString(random)+`"},"status":{"phase":"Running"}`)
}

// small is the size of a file without any messages.
func small(t *testing.T) int {
	t.Helper()
	return export1(t, 20e6, []event.Event{added(pods, pod("a", "a", "1", "Running"), 0)}).Bytes
}

// TestExport tests that a file has all messages from the beginning and each content, and no unescaped text of an object.
func TestExport(t *testing.T) {
	t.Parallel()
	secret := func(version, value string) event.Object {
		return object("Secret", "key", "s", version, `},"data":{"password":"`+value+`"}`)
	}
	first := added(pods, pod("</script>", "a", "1", "Pending"), 0)
	first.Initial = true
	x := export1(t, 20e6, []event.Event{
		first, added(secrets, secret("1", "aHVudGVyMg=="), 1),
		modified(pods, pod("</script>", "a", "1", "Pending"), pod("</script>", "a", "2", "Failed"), 2),
		modified(secrets, secret("1", "aHVudGVyMg=="), secret("2", "Y29ycmVjdA=="), 3),
		deleted(pods, pod("</script>", "a", "2", "Failed"), 4),
	})
	if !x.Omitted.ChangesBefore.IsZero() || !x.Omitted.ContentsBefore.IsZero() || x.ChangeCount != 4 || x.ObjectCount != 2 {
		t.Errorf("%+v", x.ExportResult)
	}
	if len(x.begin) < 2 || x.begin[0].text("type") != "hello" || x.begin[1].text("type") != "snapshot" || len(x.begin[1]["rows"].([]any)) != 0 {
		t.Errorf("it begins with %v", x.begin)
	}
	var seqs []uint64
	types := map[string]int{}
	for _, m := range x.messages {
		if types[m.text("type")]++; m.number("seq") > 0 {
			seqs = append(seqs, m.number("seq"))
		}
	}
	for n, seq := range seqs {
		if seq != uint64(n+1) {
			t.Fatalf("the messages are %v", seqs)
		}
	}
	if types["change"] != 5 || types["problems"] == 0 {
		t.Errorf("it has %v", types)
	}
	if len(x.contents) != 5 {
		t.Errorf("it has %d contents: %v", len(x.contents), x.contents)
	}
	all := fmt.Sprint(x.messages, x.contents)
	for _, hidden := range []string{"aHVudGVyMg", "Y29ycmVjdA", "hunter2"} {
		if strings.Contains(all, hidden) || strings.Contains(x.text, hidden) {
			t.Errorf("it has %s", hidden)
		}
	}
	if n := strings.Count(x.text, "<script"); n != strings.Count(x.text, "</script>") || n != len(exportedBlock.FindAllString(x.text, -1))+1 {
		t.Errorf("%d scripts", n)
	}
}

// TestExportContents tests that the oldest contents are omitted if they do not fit, and that the result says so.
func TestExportContents(t *testing.T) {
	t.Parallel()
	var all []event.Event
	before := noisePod("a", 0, 300_000)
	all = append(all, added(pods, before, 0))
	for n := 1; n <= 10; n++ {
		now := noisePod("a", n, 300_000)
		all = append(all, modified(pods, before, now, n))
		before = now
	}
	x := export1(t, small(t)+1_600_000, all)
	if cut := x.Omitted.ContentsBefore; !x.Omitted.ChangesBefore.IsZero() || cut.IsZero() || millis(cut) != x.about.ContentsBefore || x.ChangeCount != 11 {
		t.Fatalf("%+v", x.ExportResult)
	}
	if n := len(x.contents); n < 1 || n > 5 {
		t.Errorf("%d contents", n)
	}
	newest := int64(0)
	for _, c := range x.contents {
		newest = max(newest, int64(c.number("t")))
		if int64(c.number("t")) < x.about.ContentsBefore {
			t.Errorf("the file has a content of %v, but ContentsBefore is %v", c["t"], x.about.ContentsBefore)
		}
	}
	if newest != millis(at(10)) {
		t.Errorf("the newest is of %v", newest)
	}
}

// TestExportChanges tests that the file begins later, with a snapshot, if there are too many changes.
func TestExportChanges(t *testing.T) {
	t.Parallel()
	const objects, rounds = 20, 60
	all := []event.Event{added(eventsOf, kubeEvent("e", "1", "of before"), 0)}
	last := map[string]event.Object{}
	for n := range objects {
		name := fmt.Sprint("p", n)
		last[name] = noisePod(name, 0, 100)
		all = append(all, added(pods, last[name], 0))
	}
	for round := 1; round <= rounds; round++ {
		for n := range objects {
			name := fmt.Sprint("p", n)
			now := noisePod(name, round, 200)
			all = append(all, modified(pods, last[name], now, round))
			last[name] = now
		}
	}
	x := export1(t, small(t)+150_000, all)
	if x.Omitted.ChangesBefore.IsZero() || !x.From.Equal(x.Omitted.ChangesBefore) || millis(x.From) != x.about.ChangesBefore {
		t.Fatalf("%+v", x.ExportResult)
	}
	rows := 0
	for _, m := range x.begin {
		if m.text("type") == "snapshot" {
			rows += len(m["rows"].([]any))
		}
	}
	if rows != objects+1 {
		t.Errorf("it begins with %d objects", rows)
	}
	for _, m := range x.messages {
		if m.number("time") > 0 && int64(m.number("time")) <= millis(x.From) {
			t.Errorf("it has a change of %v, and begins at %v", m["time"], millis(x.From))
		}
	}
	// What an Event says that was there before is not lost.
	told := slices.IndexFunc(x.begin, func(m message) bool { return m.text("type") == "told" })
	if told < 0 || x.begin[told]["item"].(map[string]any)["message"] != "of before" {
		t.Errorf("it begins with %v", x.begin)
	}
	if x.ChangeCount == 0 || x.ChangeCount >= objects*rounds {
		t.Errorf("it has %d changes of %d", x.ChangeCount, objects*rounds)
	}
	// The snapshot alone may be too large.
	var tooLarge *TooLargeError
	o := newHub().Options
	o.Recording = played(all)
	if _, err := Export(t.Context(), o, small(t)-1000, io.Discard); !errors.As(err, &tooLarge) {
		t.Errorf("%v", err)
	}
}

// TestExportBlind tests that a gap that lasts to the end includes the last millisecond.
func TestExportBlind(t *testing.T) {
	t.Parallel()
	x := export1(t, 20e6, []event.Event{added(pods, pod("a", "a", "1", "Running"), 0), modified(pods, pod("a", "a", "1", "Running"), pod("a", "a", "2", "Failed"), 9)})
	if b := x.about.Blind; len(b) != 1 || b[0].From != millis(at(0)) || b[0].To <= millis(x.To) {
		t.Errorf("%v, and it ends at %d", b, millis(x.To))
	}
}

// TestExportRoom tests that an export fails as too large only if it is.
func TestExportRoom(t *testing.T) {
	t.Parallel()
	var all []event.Event
	for n := range 400 {
		name := fmt.Sprint(n, strings.Repeat("x", 20), rand.Text())
		all = append(all, added(pods, pod(name, name, "1", "Running"), 0))
	}
	o := newHub().Options
	o.Recording = played(all)
	low, written := small(t), 0
	for max := low; max < low+100_000; max += 12_000 {
		var tooLarge *TooLargeError
		switch _, err := Export(t.Context(), o, max, io.Discard); {
		case err == nil:
			written++
		case !errors.As(err, &tooLarge):
			t.Fatal(err)
		case tooLarge.Bytes <= max:
			t.Errorf("of %d bytes: %v (%d)", max, err, tooLarge.Bytes)
		}
	}
	if written == 0 {
		t.Error("no export succeeded")
	}
}

// TestExportAbout tests that the description of an export names gaps and damage of the recording.
func TestExportAbout(t *testing.T) {
	t.Parallel()
	for want, known := range map[string]Coverage{
		", complete":             {},
		", damaged":              {ReadErrors: []string{"a segment can't be read"}},
		", incomplete (gaps: 1)": {Gaps: []Gap{{From: at(0), To: at(1)}}, ReadErrors: []string{"a segment can't be read"}},
	} {
		x := &export{Options: newHub().Options, exportCollector: &exportCollector{known: known}}
		x.From, x.To = at(0), at(9)
		if got := x.about(); !strings.HasSuffix(got, want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
}

// gather gathers what a file may have of events.
func gather(t *testing.T, all ...event.Event) *exportCollector {
	t.Helper()
	o := newHub().Options
	o.Recording = played(all)
	g := newExportCollector(o, 20e6)
	if err := g.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestExportFailures tests that a failure is counted once, whatever the number of objects that belong to it.
func TestExportFailures(t *testing.T) {
	t.Parallel()
	owned := func(version, phase string) event.Object {
		return object("Pod", "a", "a", version, `,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"top","uid":"top","controller":true}]},"spec":{},"status":{"phase":"`+phase+`"}`)
	}
	g := gather(t, added(pods, pod("top", "old", "1", "Running"), 0), deleted(pods, pod("top", "old", "1", "Running"), 1), added(pods, pod("top", "top", "2", "Running"), 2),
		added(pods, owned("3", "Running"), 3), modified(pods, owned("3", "Running"), owned("4", "Failed"), 4), modified(pods, owned("4", "Failed"), owned("5", "Running"), 9))
	if len(g.failures) != 1 || len(g.failures[0].keys) != 2 || g.failures[0].at != millis(at(4)) {
		t.Fatalf("%+v", g.failures)
	}
	text, missing := g.findLeadUps(t.Context())
	if all := decode(t, text); len(all) != 2 || missing != 0 {
		t.Errorf("%d are missing: %s", missing, text)
	}
	for n := range 150 {
		g.addFailure("gone", int64(n))
	}
	if _, missing := g.findLeadUps(t.Context()); missing != 151 {
		t.Errorf("%d are missing", missing)
	}
}

// TestExportOver tests that deleted objects need no memory while a recording is read.
func TestExportOver(t *testing.T) {
	t.Parallel()
	g := gather(t, added(pods, pod("a", "a", "1", "Running"), 0), added(pods, pod("b", "b", "2", "Running"), 1), deleted(pods, pod("a", "a", "1", "Running"), 2))
	if len(g.states.last) != 1 || len(g.named) != 1 || len(g.states.all) != 3 {
		t.Errorf("%v, %v", g.states.last, g.named)
	}
}

// TestExportTimes tests that messages have the times of their events, also within a second, and that the columns of a
// resource have the time of the object that they came with.
func TestExportTimes(t *testing.T) {
	t.Parallel()
	soon := func(e event.Event, ms int) event.Event {
		e.Time = e.Time.Add(time.Duration(ms) * time.Millisecond)
		return e
	}
	g := gather(t, added(pods, pod("a", "a", "1", "Running"), 0), soon(modified(pods, pod("a", "a", "1", "Running"), pod("a", "a", "2", "Failed"), 5), 100),
		soon(added(eventsOf, kubeEvent("e", "3", "odd"), 5), 900))
	resources := 0
	for _, l := range g.lines.all {
		m := decode(t, l.appendTo(nil))
		if m["time"] != nil && int64(m.number("time")) != l.at {
			t.Errorf("of %d it is %v", l.at, m)
		}
		if m.text("type") == "resource" && m["resource"].(map[string]any)["resource"] == "events" {
			if resources++; l.at != millis(at(5))+900 {
				t.Errorf("of %d it is %v", l.at, m)
			}
		}
	}
	if resources != 1 {
		t.Errorf("%d resources", resources)
	}
}
