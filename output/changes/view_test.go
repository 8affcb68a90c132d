package changes

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

var deployments = event.Target{
	Mapping:   event.NewMapping(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment", true),
	Namespace: "shop",
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

var hash = regexp.MustCompile(`, [0-9a-f]{6}`)

var at = time.Date(2026, 1, 31, 9, 0, 0, 120_000_000, time.Local)

// object returns a ConfigMap or Secret named web that was created two minutes before, with more members.
func object(t testing.TB, kind, members string) event.Object {
	t.Helper()
	if members == "" {
		return event.Object{}
	}
	return testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"web","namespace":"shop","uid":"1","resourceVersion":"1","creationTimestamp":%q},%s}`,
		kind, at.Add(-2*time.Minute).UTC().Format(time.RFC3339), members))
}

func modified(t testing.TB, kind, old, now string) event.Event {
	return event.Event{Type: event.Modified, Target: deployments, Time: at, Object: object(t, kind, now), Old: object(t, kind, old)}
}

func options(width int) Options {
	return Options{
		Width:     func() int { return width },
		ShortName: func(schema.GroupVersionResource) string { return "deploy" },
		Compare:   change.Options{Noise: change.DefaultNoise(), Masks: &change.Masks{Secrets: true, Key: []byte("key")}},
	}
}

// shown returns the output of a View without the times, which are local.
func shown(t testing.TB, o Options, events ...event.Event) string {
	t.Helper()
	var out strings.Builder
	if err := New(&out, o).Deliver(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "09:00:00", "")
}

func TestShow(t *testing.T) {
	gone := event.Event{Type: event.Deleted, Target: deployments, Time: at, Object: object(t, "ConfigMap", `"data":{}`)}
	lost := gone
	lost.FinalStateUnknown = true
	lost.Object = event.NewObject(gone.Object.Identity, "")
	later := modified(t, "ConfigMap", `"data":{"a":"1"}`, `"data":{"a":"2"}`)
	later.Listed = true
	again := event.Event{Type: event.Added, Target: deployments, Time: at.Add(3 * time.Second), Object: gone.Object}
	count := event.Event{Type: event.Synced, Target: deployments, Time: at, Count: 3}
	const long = `"one\ntwo\nthree\n"`
	for name, test := range map[string]struct {
		width  int
		events []event.Event
		want   string
	}{
		"one change":       {0, []event.Event{modified(t, "ConfigMap", `"data":{"a":"1"}`, `"data":{"a":"2"}`)}, " ~ deploy/web  data.a  1 → 2  unknown\n"},
		"right margin":     {50, []event.Event{modified(t, "ConfigMap", `"data":{"a":"1"}`, `"data":{"a":"2"}`)}, " ~ deploy/web  data.a  1 → 2       unknown\n"},
		"a path is cut":    {70, []event.Event{modified(t, "ConfigMap", `"zero":{"one":{"two":{"three":{"four":{"five":{"six":1}}}}}}`, `"zero":{"one":{"two":{"three":{"four":{"five":{"six":2}}}}}}`)}, " ~ deploy/web  …one.two.three.four.five.six  1 → 2     unknown\n"},
		"two changes":      {0, []event.Event{modified(t, "ConfigMap", `"data":{"a":"1"}`, `"data":{"a":"2","b":""}`)}, " ~ deploy/web  unknown\n           data.a  1 → 2\n           data.b  + \"\"\n"},
		"too long for one": {40, []event.Event{modified(t, "ConfigMap", `"data":{"a":"0123456789abcdef"}`, `"data":{"a":"fedcba9876543210"}`)}, " ~ deploy/web            unknown\n           data.a\n             - 0123456789abcdef\n             + fedcba9876543210\n"},
		"text":             {0, []event.Event{modified(t, "ConfigMap", `"data":{"a":`+long+`}`, `"data":{"a":"one\n2\nthree\n"}`)}, " ~ deploy/web  unknown\n           data.a\n             @@ -1,3 +1,3 @@\n              one\n             -two\n             +2\n              three\n"},
		"types":            {0, []event.Event{modified(t, "ConfigMap", `"a":3,"b":null,"c":{}`, `"a":"3","b":0,"c":[]`)}, " ~ deploy/web  unknown\n           a  3 → \"3\"\n           b  null → 0\n           c  {} → []\n"},
		"number added":     {0, []event.Event{modified(t, "ConfigMap", `"spec":{}`, `"spec":{"replicas":1,"paused":true}`)}, " ~ deploy/web  unknown\n           spec.paused  + true\n           spec.replicas  none → 1\n"},
		"number removed":   {0, []event.Event{modified(t, "ConfigMap", `"status":{"readyReplicas":1}`, `"status":{}`)}, " ~ deploy/web  status.readyReplicas  1 → none  unknown\n"},
		"long with a common start": {80, []event.Event{modified(t, "ConfigMap", `"data":{"a":"`+strings.Repeat("a=b&", 40)+`c=d&e=f"}`, `"data":{"a":"`+strings.Repeat("a=b&", 40)+`c=e&e=f"}`)},
			" ~ deploy/web                                                    unknown\n           data.a\n             - …b&a=b&a=b&a=b&c=d&e=f (167 bytes)\n             + …b&a=b&a=b&a=b&c=e&e=f (167 bytes)\n"},
		"common start up to an escape": {0, []event.Event{modified(t, "ConfigMap", `"data":{"a":"`+strings.Repeat("x", 150)+`\u001b[1mbold12345y"}`, `"data":{"a":"`+strings.Repeat("x", 150)+`\u001b[1mbold12345z"}`)},
			" ~ deploy/web  data.a  …\\u001b[1mbold12345y (169 bytes) → …\\u001b[1mbold12345z (169 bytes)  unknown\n"},
		"an arrow in a value": {0, []event.Event{modified(t, "ConfigMap", `"data":{"a":"x → y"}`, `"data":{"a":"\"y\""}`)}, " ~ deploy/web  data.a  \"x → y\" → \"\\\"y\\\"\"  unknown\n"},
		"prose": {50, []event.Event{modified(t, "ConfigMap", `"status":{"message":"ok"}`, `"status":{"message":"dial tcp 192.0.2.7:9000: connect: connection refused, and there is no other"}`)},
			" ~ deploy/web                      unknown\n           status.message\n             - ok\n             + dial tcp 192.0.2.7:9000: connect:\n               connection refused, and there is no\n               other\n"},
		"a secret":         {0, []event.Event{modified(t, "Secret", `"data":{"p":"aHVudGVyMg=="}`, `"data":{"p":"aHVudGVyMw=="}`)}, " ~ deploy/web  data.p  <7 bytes, a> → <7 bytes, b>  unknown\n"},
		"escapes":          {0, []event.Event{modified(t, "ConfigMap", `"data":{"a":"x"}`, `"data":{"a":"\u001b[31mred\u202e\u009b"}`)}, " ~ deploy/web  data.a  x → \\u001b[31mred\\u202e\\u009b  unknown\n"},
		"wide":             {40, []event.Event{modified(t, "ConfigMap", `"a":"日本"`, `"a":"語"`)}, " ~ deploy/web            unknown\n           a  日本 → 語\n"},
		"is being deleted": {0, []event.Event{{Type: event.Modified, Target: deployments, Time: at, Old: object(t, "ConfigMap", `"data":{}`), Object: terminating(t)}}, " ~ deploy/web  is being deleted, 30 s of grace, waits for example.com/hold  unknown\n           metadata.finalizers  + [\"example.com/hold\"]\n"},
		"deleted":          {0, []event.Event{gone}, " - deploy/web  was Current, 2 min old\n"},
		"across a gap":     {0, []event.Event{later}, " ~ deploy/web  noticed later  unknown\n           data.a  1 → 2\n"},
		"lost":             {0, []event.Event{lost}, " - deploy/web  noticed later\n"},
		"replaced":         {0, []event.Event{gone, again}, " - deploy/web  was Current, 2 min old\n09:00:03 + deploy/web  Current, replaces the one deleted 3 s ago\n"},
		"initial count":    {0, []event.Event{count}, " = 3 deployments in shop\n"},
		"without old":      {0, []event.Event{modified(t, "ConfigMap", "", `"data":{}`)}, " ~ deploy/web  changed; the previous state is unknown\n"},
		"only noise":       {0, []event.Event{modified(t, "ConfigMap", `"status":{"observedGeneration":1}`, `"status":{"observedGeneration":2}`)}, ""},
		"a status event":   {0, []event.Event{{Type: event.Disconnected, Target: deployments, Time: at}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := hash.ReplaceAllString(shown(t, options(test.width), test.events...), "")
			want := strings.NewReplacer("<7 bytes, a>", "<7 bytes>", "<7 bytes, b>", "<7 bytes>").Replace(test.want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func terminating(t testing.TB) event.Object {
	return testobject.Parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop","uid":"1","resourceVersion":"2","creationTimestamp":`+
		`"`+at.Add(-2*time.Minute).UTC().Format(time.RFC3339)+`","deletionTimestamp":"2026-01-31T09:00:30Z","deletionGracePeriodSeconds":30,"finalizers":["example.com/hold"]},"data":{}}`)
}

// TestWidths checks that no line is wider than the terminal, and that nothing is cut in a pipe.
func TestWidths(t *testing.T) {
	text := strings.Repeat("wörter 語 ", 200)
	e := modified(t, "ConfigMap",
		fmt.Sprintf(`"data":{"one":"1","%s":"x"},"list":[{"name":"a","v":%q},{"name":"b"}]`, strings.Repeat("key", 30), text),
		fmt.Sprintf(`"data":{"one":%q,"%s":"y"},"list":[{"name":"b"},{"name":"a","v":"short"}]`, text, strings.Repeat("key", 30)))
	for width := MinWidth; width <= 300; width++ {
		for line := range strings.Lines(shown(t, options(width), e)) {
			if got := displaywidth.String(strings.TrimSuffix(line, "\n")); got > width {
				t.Fatalf("line has %d columns on a terminal of %d: %s", got, width, line)
			}
		}
	}
	o := options(0)
	o.NoTruncate = true
	if got := shown(t, o, e); strings.Contains(got, ellipsis) || !strings.Contains(got, strings.TrimSpace(text)) {
		t.Errorf("a value was cut: %s", got)
	}
}

func TestWriter(t *testing.T) {
	by := func(managers ...string) (changes []change.Change) {
		for _, m := range managers {
			changes = append(changes, change.Change{Writer: change.Writer{Manager: m}})
		}
		return changes
	}
	for _, c := range []struct {
		// want is for a watch event, listed for an event from a list
		want, listed string
		changes      []change.Change
	}{
		{"", "", nil}, {"unknown", "unknown", by("", "")}, {"a", "a", by("a", "a")}, {"", "", by("a", "b")},
		{"a", "", by("", "a", "", "a")}, {"", "", by("", "a", "", "b")},
	} {
		if got := writer(&event.Event{}, c.changes); got != c.want {
			t.Errorf("%v: %q, want %q", c.changes, got, c.want)
		}
		if got := writer(&event.Event{Listed: true}, c.changes); got != c.listed {
			t.Errorf("%v, listed: %q, want %q", c.changes, got, c.listed)
		}
	}
}

// TestManyChanges checks that only the first of many changes are shown, with the number of the others.
func TestManyChanges(t *testing.T) {
	var keys []string
	for i := range maxRows + 3 {
		keys = append(keys, fmt.Sprintf(`"k%02d":"x"`, i))
	}
	for count, want := range map[int]string{maxRows + 1: "data.k40  + x", maxRows + 2: "… 2 more changes; --full shows them"} {
		e := modified(t, "ConfigMap", `"data":{}`, `"data":{`+strings.Join(keys[:count], ",")+`}`)
		if got := shown(t, options(0), e); !strings.HasSuffix(got, " "+want+"\n") || strings.Count(got, "\n") > maxRows+2 {
			t.Errorf("%d changes: got %s", count, got)
		}
		full := options(0)
		full.NoTruncate = true
		if got := shown(t, full, e); strings.Count(got, "\n") != count+1 {
			t.Errorf("%d changes in full: got %s", count, got)
		}
	}
}

func TestCutFront(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{42, "status.conditions[type=Progressing].reason"},
		{41, "…conditions[type=Progressing].reason"},
		{36, "…conditions[type=Progressing].reason"},
		{35, "…[type=Progressing].reason"},
		{26, "…[type=Progressing].reason"},
		{25, "…type=Progressing].reason"},
		{12, "…reason"},
	} {
		if got := cutFront("status.conditions[type=Progressing].reason", c.width); got != c.want {
			t.Errorf("width %d: got %q, want %q", c.width, got, c.want)
		}
	}
}

// TestDescribe checks the status of objects that are not ready.
func TestDescribe(t *testing.T) {
	for status, want := range map[string]string{
		`{}`:                       "InProgress",
		`{"observedGeneration":0}`: "InProgress: DaemonSet generation is 1, but latest observed generation is 0",
	} {
		o := testobject.Parse(t, `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a","generation":1,"creationTimestamp":"2026-01-31T09:00:00Z"},"spec":{},"status":`+status+`}`)
		u, err := o.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(u, nil); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}

// TestDescribeMasked checks that a message that is masked is not shown.
func TestDescribeMasked(t *testing.T) {
	o := testobject.Parse(t, `{"apiVersion":"x.io/v1","kind":"X","metadata":{"name":"a","creationTimestamp":"2026-01-31T09:00:00Z"},`+
		`"status":{"conditions":[{"type":"Stalled","status":"True","reason":"Bad","message":"no user hunter2"}]}}`)
	u, err := o.Decode()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"status.conditions[*].message": "Failed", "status": "Failed", "spec": "Failed: Bad: no user hunter2"} {
		p, err := change.ParsePattern(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(u, &change.Masks{Paths: change.Patterns{p}}); got != want {
			t.Errorf("--mask %s: %q, want %q", path, got, want)
		}
	}
}

// TestWrap checks that lines lose only the spaces between them.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"one two three", 0, []string{"one two three"}},
		{"one two three", 13, []string{"one two three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"onetwothree", 4, []string{"onet", "woth", "ree"}},
		{"語語語", 3, []string{"語", "語", "語"}},
		{"語語", 1, []string{"語語"}},
		{"", 5, []string{""}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, c.width)); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

// TestColor checks that colours do not change the text.
func TestColor(t *testing.T) {
	e := modified(t, "ConfigMap", `"data":{"a":"1"}`, `"data":{"a":"2"}`)
	for _, width := range []int{0, 40, 80} {
		plain, colored := options(width), options(width)
		colored.Color = true
		if got, want := escapes.ReplaceAllString(shown(t, colored, e), ""), shown(t, plain, e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHidden checks that hidden events are counted.
func TestHidden(t *testing.T) {
	var out strings.Builder
	v := New(&out, options(0))
	e := modified(t, "ConfigMap", `"status":{"observedGeneration":1}`, `"status":{"observedGeneration":2}`)
	if err := v.Deliver(t.Context(), []event.Event{e, e}); err != nil || v.Hidden() != 2 || out.Len() > 0 {
		t.Errorf("%d hidden, %v: %s", v.Hidden(), err, out.String())
	}
}

// TestNote checks that a note is one line, or several on a narrow terminal, and is never cut.
func TestNote(t *testing.T) {
	const text = "pods in namespace shop: denied, trying again until it is allowed: https://10.0.0.1:6443/api/v1/namespaces/shop/pods 語語語語語語語語語語語語語語語語語語語語語語語語\x1b[2J"
	for _, test := range []struct {
		width int
		text  string
		want  string
	}{
		{0, "reconnected", "09:00:00 ! reconnected\n"},
		{40, "connection lost, trying again: 127.0.0.1:6443: refused", "09:00:00 ! connection lost, trying\n           again: 127.0.0.1:6443:\n           refused\n"},
		{0, text, "09:00:00 ! " + strings.Replace(text, "\x1b", `\u001b`, 1) + "\n"},
	} {
		if got := noted(options(test.width), test.text); got != test.want {
			t.Errorf("%d columns: %q, want %q", test.width, got, test.want)
		}
	}
	whole := regexp.MustCompile(`\s+`)
	for width := MinWidth; width <= 300; width++ {
		for _, timestamps := range []bool{false, true} {
			o := options(width)
			o.FullTimestamps = timestamps
			got := noted(o, text)
			var joined strings.Builder
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if columns := displaywidth.String(line); columns > width {
					t.Fatalf("line has %d columns on a terminal of %d: %s", columns, width, line)
				}
				joined.WriteString(line[New(&joined, o).out.indent():])
			}
			if want := strings.Replace(text, "\x1b", `\u001b`, 1); whole.ReplaceAllString(joined.String(), "") != whole.ReplaceAllString(want, "") {
				t.Fatalf("at %d columns text is lost: %s", width, got)
			}
		}
	}
	colored := options(80)
	colored.Color = true
	if got, want := noted(colored, "reconnected"), "\x1b[2m09:00:00 \x1b[0m\x1b[1;35m!\x1b[0m reconnected\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func noted(o Options, text string) string {
	var out strings.Builder
	New(&out, o).Note(at, text)
	return out.String()
}

// TestNoteFails checks that Deliver returns the error of a note that could not be written.
func TestNoteFails(t *testing.T) {
	v := New(full{}, options(0))
	v.Note(at, "reconnected")
	if err := v.Deliver(t.Context(), nil); !errors.Is(err, errFull) {
		t.Errorf("got %v, want the error of the note", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestNoteConcurrently checks that notes can come from any goroutine, and that lines stay whole.
func TestNoteConcurrently(t *testing.T) {
	var out strings.Builder
	v := New(&out, options(0))
	e := modified(t, "ConfigMap", `"data":{"a":"1"}`, `"data":{"a":"2"}`)
	var notes sync.WaitGroup
	notes.Go(func() {
		for range 100 {
			v.Note(at, "note")
			v.Hidden()
		}
	})
	for range 100 {
		if err := v.Deliver(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	notes.Wait()
	noteLines := strings.Count(out.String(), "09:00:00 ! note\n")
	changes := strings.Count(out.String(), "09:00:00 ~ deploy/web  data.a  1 → 2  unknown\n")
	if lines := strings.Count(out.String(), "\n"); noteLines != 100 || changes != 100 || lines != 200 {
		t.Errorf("got %d notes and %d changes in %d lines, want 100 each in 200", noteLines, changes, lines)
	}
}

// TestShownConcurrently checks that Shown waits for a call that is showing events, instead of returning a number in between.
func TestShownConcurrently(t *testing.T) {
	v := New(io.Discard, options(0))
	shown := make(chan int, 1)
	v.mu.Lock()
	go func() { shown <- v.Shown() }()
	for range 1000 {
		runtime.Gosched()
	}
	v.shown = 2
	v.mu.Unlock()
	if got := <-shown; got != 2 {
		t.Errorf("%d events shown, want 2", got)
	}
}

// TestResize checks that the width is read for each batch and each note.
func TestResize(t *testing.T) {
	width := 60
	o := options(0)
	o.Width = func() int { return width }
	var out strings.Builder
	v := New(&out, o)
	e := modified(t, "ConfigMap", `"data":{"a":"1"}`, `"data":{"a":"2"}`)
	for _, width = range []int{60, 100, 40, 0} {
		out.Reset()
		if err := v.Deliver(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(out.String(), "\n")
		want := width
		if width == 0 {
			want = len("09:00:00 ~ deploy/web  data.a  1 → 2  unknown") - len("→") + 1
		}
		if got := displaywidth.String(first); got != want {
			t.Errorf("%d columns, want %d: %s", got, want, first)
		}
		out.Reset()
		v.Note(at, strings.Repeat("word ", 30))
		for line := range strings.Lines(out.String()) {
			if got := displaywidth.String(strings.TrimSuffix(line, "\n")); width > 0 && got > width {
				t.Errorf("%d columns on %d: %s", got, width, line)
			}
		}
	}
}

// TestZone checks that full timestamps contain the offset of the time zone.
func TestZone(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	o := options(0)
	o.FullTimestamps = true
	for want, zone := range map[string]*time.Location{
		"2026-01-31T09:00:00.000+00:00": time.UTC,
		"2026-01-31T14:45:00.000+05:45": time.FixedZone("", 5*3600+45*60),
	} {
		time.Local = zone
		v := New(io.Discard, o)
		if got := v.out.clock(time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)); got != want || v.out.indent() != len(want+" ~ ") {
			t.Errorf("%s, want %s, and %d columns", got, want, v.out.indent())
		}
	}
}
