package top

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/churn"
)

var (
	configMaps = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)}
	begin      = time.Date(2026, 1, 31, 2, 0, 0, 123456789, time.FixedZone("", 3600))
)

// board is a Top with the objects that it has received.
type board struct {
	*Top
	out     bytes.Buffer
	last    map[string]event.Object
	now     time.Time
	cluster string // of the next write
}

func newBoard(o Options) *board {
	b := &board{last: map[string]event.Object{}, now: begin}
	o.ShortName = func(schema.GroupVersionResource) string { return "cm" }
	o.Compare = change.Options{Noise: change.DefaultNoise()}
	b.Top = New(&b.out, o)
	return b
}

// write makes a manager set the only field of a ConfigMap. Each write advances the clock by a second.
func (b *board) write(t *testing.T, name, manager string, value int) {
	t.Helper()
	b.writeFields(t, name, manager, value, "k")
}

// writeFields makes a manager set all fields of a ConfigMap to a value.
func (b *board) writeFields(t *testing.T, name, manager string, value int, fields ...string) {
	t.Helper()
	var set, data []string
	for _, f := range fields {
		set, data = append(set, fmt.Sprintf(`"f:%s":{}`, f)), append(data, fmt.Sprintf(`%q:"%d"`, f, value))
	}
	b.now = b.now.Add(time.Second)
	version := fmt.Sprint(b.now.Unix())
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"resourceVersion":%q,"managedFields":[{"manager":%q,"operation":"Update","apiVersion":"v1","time":%q,"fieldsType":"FieldsV1","fieldsV1":{"f:data":{%s}}}]},"data":{%s}}`,
		name, version, manager, b.now.UTC().Format(time.RFC3339), strings.Join(set, ","), strings.Join(data, ","))
	e := event.Event{Type: event.Modified, Target: configMaps, Old: b.last[name], Time: b.now,
		Object: event.NewObject(&event.Identity{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID(name), ResourceVersion: version}, content)}
	if e.Target.Cluster = b.cluster; e.Old.IsZero() {
		e.Type, e.Initial = event.Added, true
	}
	b.last[name] = e.Object
	if err := b.Deliver(t.Context(), []event.Event{e}); err != nil {
		t.Fatal(err)
	}
}

// fight makes two managers undo each other's change n times.
func (b *board) fight(t *testing.T, name string, n int) {
	t.Helper()
	b.write(t, name, "argocd", 0)
	for i := range n {
		b.write(t, name, [2]string{"hpa", "argocd"}[i%2], (i+1)%2)
	}
}

func (b *board) print(t *testing.T) string {
	t.Helper()
	b.out.Reset()
	if err := b.Print(b.now); err != nil {
		t.Fatal(err)
	}
	return b.out.String()
}

// TestTimes checks that times in JSON are in UTC and have milliseconds.
func TestTimes(t *testing.T) {
	b := newBoard(Options{RankBy: ByObject, JSON: true})
	b.fight(t, "web", 4)
	if text := b.print(t); !strings.HasPrefix(text, `{"time":"2026-01-31T01:00:05.123Z",`) || !strings.Contains(text, `"since":"2026-01-31T01:00:02.123Z"`) {
		t.Error(text)
	}
}

// TestPerMinute checks that the rate of a run that is younger than a minute is not extrapolated.
func TestPerMinute(t *testing.T) {
	for by, want := range map[RankBy]string{ByObject: "3.0       3         cm/web", ByField: "3.0       3         cm/web", ByManager: "3.0       3         hpa"} {
		b := newBoard(Options{RankBy: by})
		for value := range 4 { // the first one creates the object
			b.write(t, "web", "hpa", value)
		}
		if text := b.print(t); !strings.Contains(text, want) {
			t.Errorf("by %s: got\n%s\nwant %q in it", by, text, want)
		}
	}
}

// TestOneFight checks that a fight over several fields of an object has one line in a table, and an element per field in JSON.
func TestOneFight(t *testing.T) {
	names := []string{"a", "b", "c"}
	for by, want := range map[RankBy]string{
		ByObject:  "  ! fight over data.a and 2 more: argocd 1 → 0, hpa 0 → 1, 8 times in 7 s\n",
		ByManager: "  ! cm/web: fight over data.a and 2 more: argocd 1 → 0, hpa 0 → 1, 8 times in 7 s\n",
	} {
		b, j := newBoard(Options{RankBy: by}), newBoard(Options{RankBy: by, JSON: true})
		for i := range 9 {
			for _, one := range []*board{b, j} {
				one.writeFields(t, "web", [2]string{"argocd", "hpa"}[i%2], i%2, names...)
			}
		}
		text := b.print(t)
		if n := strings.Count(text, want); n != strings.Count(text, "fight") || n == 0 {
			t.Errorf("by %s:\n%s", by, text)
		}
		if n := strings.Count(strings.SplitAfter(j.print(t), "\n")[0], `"path":"data.`); n < len(names) {
			t.Errorf("by %s: %d in JSON", by, n)
		}
	}
}

// TestFindingsAreShown checks that objects in fights and hot loops have rows beyond MaxRows, in each ranking.
func TestFindingsAreShown(t *testing.T) {
	for by, want := range map[RankBy][]string{
		ByObject:  {"cm/busy", "cm/web", "  ! fight over data.k: ", "cm/loop", "  ! hot loop: written by operator with no change, "},
		ByField:   {"cm/busy", "cm/web", "  ! fight over data.k: ", "cm/loop", "  ! hot loop: written by operator with no change, "},
		ByManager: {"worker", "argocd", "  ! cm/web: fight over data.k: ", "hpa", "operator", "  ! cm/loop: hot loop: written by operator with no change, "},
	} {
		b := newBoard(Options{RankBy: by, MaxRows: 1})
		for n := range 20 {
			b.write(t, "busy", "worker", n)
		}
		b.fight(t, "web", 8)
		for range 7 {
			b.write(t, "loop", "operator", 1)
		}
		for n := range 3 {
			b.write(t, "quiet", "calm", n)
		}
		text := b.print(t)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("by %s: got\n%s\nwant %q in it", by, text, part)
			}
		}
		if strings.Contains(text, "quiet") || strings.Contains(text, "calm") {
			t.Errorf("by %s: got rows without findings beyond MaxRows:\n%s", by, text)
		}
	}
}

// TestFindingsThatDoNotFit checks that the last line counts findings for which the terminal has no lines.
func TestFindingsThatDoNotFit(t *testing.T) {
	b := newBoard(Options{RankBy: ByObject, InPlace: true, Size: func() (int, int) { return 200, 4 }})
	for _, name := range []string{"a", "b", "c"} {
		b.fight(t, name, 8)
	}
	if text := b.print(t); !strings.HasSuffix(text, "  ! 3 more fights and hot loops do not fit\n") {
		t.Error(text)
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestClusterColors checks that the names of clusters have their colours in rows and findings, and that colours change nothing
// else, in each ranking and width.
func TestClusterColors(t *testing.T) {
	names := []string{"prod-eu", "prod-us", "\x1b[31mred"}
	palette := output.NewPalette(names...)
	for _, by := range []RankBy{ByObject, ByField, ByManager} {
		for _, width := range []int{20, 35, 80, 160} {
			o := Options{RankBy: by, InPlace: true, Size: func() (int, int) { return width, 100 }, ClusterNames: names}
			plain := newBoard(o)
			o.Color = true
			colored := newBoard(o)
			for _, b := range []*board{plain, colored} {
				for i, name := range names {
					b.cluster = name
					b.fight(t, fmt.Sprint("web-", i), 8)
				}
			}
			want, got := plain.print(t), colored.print(t)
			if stripped := escapes.ReplaceAllString(got, ""); stripped != want {
				t.Errorf("by %s, %d columns: got without colours\n%s\nwant\n%s", by, width, stripped, want)
			}
			for _, name := range names {
				shown := output.EscapeLine(name)
				if n := strings.Count(got, palette.Paint(name, shown)); n != strings.Count(want, shown) || n == 0 && width > 80 {
					t.Errorf("by %s, %d columns: %s is coloured %d times in\n%s", by, width, shown, n, got)
				}
			}
			for line := range strings.Lines(got) {
				if strings.Count(line, "\x1b[38;") != strings.Count(line, "\x1b[0m") {
					t.Errorf("by %s, %d columns: a colour does not end: %q", by, width, line)
				}
			}
		}
	}
}

// TestFightsOfSameName checks that fights over objects with the same name in two namespaces are not merged.
func TestFightsOfSameName(t *testing.T) {
	fight := func(namespace string) finding {
		sides := []churn.Side{{Manager: "argocd"}, {Manager: "hpa"}}
		return finding{Object: &object{Namespace: namespace, Name: "web"}, Finding: &churn.Finding{Path: "data.k", Sides: sides}, name: "cm/web"}
	}
	r := row{Fights: []finding{fight("a"), fight("b")}}
	if got := r.findings(); len(got) != 2 {
		t.Errorf("got %d findings, want 2", len(got))
	}
}
