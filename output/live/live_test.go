package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/changes"
	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

var (
	start    = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	podsOf   = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true), Namespace: "shop"}
	deploys  = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment", true), Namespace: "shop"}
	podTable = `"columnDefinitions":[{"name":"Name","type":"string","format":"name","priority":0},{"name":"Ready","type":"string","format":"","priority":0},` +
		`{"name":"Status","type":"string","format":"","priority":0},{"name":"Restarts","type":"string","format":"","priority":0},{"name":"Age","type":"string","format":"","priority":0},` +
		`{"name":"IP","type":"string","format":"","priority":1},{"name":"Node","type":"string","format":"","priority":1}]`
)

// pod returns a pod with a phase, and with the row that a server sends for it.
func pod(t testing.TB, name, phase string, version int) event.Object {
	t.Helper()
	text, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	quoted := string(text)
	o := testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%s,"namespace":"shop","uid":%[1]s,"resourceVersion":"%d","creationTimestamp":"2026-01-31T08:55:00Z",`+
		`"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]},"status":{"phase":%q,"conditions":[{"type":"Ready","status":"%s"}]}}`,
		quoted, version, phase, map[bool]string{true: "True", false: "False"}[phase == "Running"]))
	return o.WithRow(`{` + podTable + `,"cells":[` + quoted + `,"1/1","` + phase + `","0","5m","10.0.0.1","node-1"]}`)
}

// screen is a model with a simulated clock.
type screen struct {
	*model
	t     testing.TB
	clock time.Time
}

func newScreen(t testing.TB, width, height int, change func(*Options)) *screen {
	t.Helper()
	o := Options{
		Title:   "pods in shop",
		Options: changes.Options{Targets: []event.Target{podsOf}, Color: true, Compare: changeOptions(), ShortName: testobject.ShortName},
	}
	if change != nil {
		change(&o)
	}
	s := &screen{t: t, clock: start}
	s.model = newModel(t.Context(), New(o).store)
	s.model.now = func() time.Time { return s.clock }
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

func changeOptions() change.Options {
	return change.Options{Noise: change.DefaultNoise(), Masks: &change.Masks{Secrets: true, Key: []byte("key")}}
}

func (s *screen) send(msg tea.Msg) tea.Cmd {
	_, cmd := s.Update(msg)
	return cmd
}

// press sends keys, given by their names or characters.
func (s *screen) press(keys ...string) {
	s.t.Helper()
	for _, key := range keys {
		s.send(keyOf(key))
	}
}

// keyOf returns the message for a key, given by its name or character.
func keyOf(name string) tea.KeyPressMsg {
	named := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab,
		"home": tea.KeyHome, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "backspace": tea.KeyBackspace,
		"left": tea.KeyLeft, "right": tea.KeyRight,
	}
	if code, ok := named[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// typed sends the characters of a text.
func (s *screen) typed(text string) {
	s.t.Helper()
	for _, r := range text {
		s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func (s *screen) deliver(events ...event.Event) {
	s.t.Helper()
	for i := range events {
		if events[i].Target.Mapping == nil {
			events[i].Target = podsOf
		}
		if events[i].Time.IsZero() {
			events[i].Time = s.clock
		}
	}
	if err := s.Deliver(s.t.Context(), events); err != nil {
		s.t.Fatal(err)
	}
	s.send(changedMsg{})
}

// pass advances the clock, and sends a tick.
func (s *screen) pass(d time.Duration) {
	s.clock = s.clock.Add(d)
	s.send(tickMsg{})
}

// text returns the text on the screen, without styles and trailing spaces.
func (s *screen) text() string {
	var lines []string
	for line := range strings.SplitSeq(ansi.Strip(s.View().Content), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// shows ends the test unless pattern matches the text on the screen. ^ and $ match at lines.
func (s *screen) shows(pattern string) {
	s.t.Helper()
	if !regexp.MustCompile(`(?m)` + pattern).MatchString(s.text()) {
		s.t.Fatalf("%q does not match the screen:\n%s", pattern, s.text())
	}
}

// lacks ends the test if pattern matches the text on the screen.
func (s *screen) lacks(pattern string) {
	s.t.Helper()
	if regexp.MustCompile(`(?m)` + pattern).MatchString(s.text()) {
		s.t.Fatalf("%q matches the screen:\n%s", pattern, s.text())
	}
}

func initial(o event.Object) event.Event {
	return event.Event{Type: event.Added, Initial: true, Object: o}
}

func modified(o event.Object) event.Event { return event.Event{Type: event.Modified, Object: o} }

func removed(o event.Object) event.Event { return event.Event{Type: event.Deleted, Object: o} }

func synced() event.Event { return event.Event{Type: event.Synced, Count: 1} }

// rows returns the lines of the table.
func (s *screen) rows() string {
	lines := strings.Split(s.text(), "\n")
	return strings.Join(lines[s.above():len(lines)-linesBelow], "\n")
}

// order returns the names of the visible rows.
func (s *screen) order() string {
	var names []string
	for line := range strings.SplitSeq(s.rows(), "\n") {
		names = append(names, regexp.MustCompile(`web-\S+`).FindAllString(line, 1)...)
	}
	return strings.Join(names, " ")
}

// TestTable checks the rows of existing, changed, added and deleted objects, and their highlights as time passes.
func TestTable(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	s.shows(`waiting for the server`)
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Pending", 1)), initial(pod(t, "web-c", "Running", 1)), synced())
	s.shows(`^ pods in shop  3 objects, 1 not ready .*● connected · last event 0s ago$`)
	s.shows(`^   NAME   READY  STATUS   RESTARTS  AGE +IP        NODE$`)
	s.shows(`^◌  web-b  1/1    Pending  0         5m +10.0.0.1  node-1$`)
	if got := s.order(); got != "web-b web-a web-c" {
		t.Errorf("got order %s, want web-b web-a web-c", got)
	}
	s.deliver(modified(pod(t, "web-b", "Running", 2)))
	s.shows(`^ ~ web-b  1/1    Running `)
	if !strings.Contains(s.View().Content, "\x1b[1;36mRunning") {
		t.Errorf("the changed cell is not highlighted: %q", s.View().Content)
	}
	if got := s.order(); got != "web-b web-a web-c" {
		t.Errorf("web-b moved as soon as it became ready: %s", got)
	}
	s.pass(brightFor)
	if content := s.View().Content; strings.Contains(content, "\x1b[1;36mRunning") || !strings.Contains(content, "\x1b[36mRunning") {
		t.Errorf("the changed cell does not fade: %q", content)
	}
	s.pass(fadingFor)
	if got := s.order(); got != "web-a web-b web-c" || strings.Contains(s.View().Content, "36m") {
		t.Errorf("after the highlights: got order %s, want web-a web-b web-c without highlights\n%q", got, s.View().Content)
	}

	s.deliver(removed(pod(t, "web-a", "Running", 3)), event.Event{Type: event.Added, Object: pod(t, "web-d", "Running", 4)})
	s.shows(`^ - web-a`)
	s.shows(`^ \+ web-d`)
	s.deliver(modified(pod(t, "web-d", "Running", 5))) // a new object keeps its sign
	s.shows(`^ \+ web-d`)
	s.shows(`^ pods in shop  3 objects`)
	s.pass(deletedFor)
	s.lacks(`web-a`)
	s.shows(`^   web-d`)
}

// TestWithoutColor checks that changes are visible without color.
func TestWithoutColor(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) { o.Color = false })
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Pending", 1)), synced())
	s.press("down")
	s.deliver(modified(pod(t, "web-b", "Running", 2)))
	s.press("home")
	s.deliver(modified(pod(t, "web-a", "Failed", 2)))
	content := s.View().Content
	if regexp.MustCompile(`\x1b\[[0-9;]*3[0-7]m`).MatchString(content) {
		t.Errorf("the frame has colors: %q", content)
	}
	if !strings.Contains(content, "\x1b[1;4mRunning") {
		t.Errorf("the changed cell is not highlighted: %q", content)
	}
	s.shows(`^✗~ web-a`)
}

// TestTitle checks that on a narrow screen, the title keeps its end, which has the namespace.
func TestTitle(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) { o.Title = "deployments, replicasets, pods in shop" })
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Pending", 1)), synced())
	s.shows(`^ deployments, re.*… in shop  2 objects, 1 not ready`)
	s.send(tea.WindowSizeMsg{Width: 160, Height: 45})
	s.shows(`^ deployments, replicasets, pods in shop  2 objects`)
}

// TestNoHealth checks that the screen does not say "no problems" if the watched resources have no status.
func TestNoHealth(t *testing.T) {
	configMaps := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true), Namespace: "shop"}
	s := newScreen(t, 120, 24, func(o *Options) { o.Targets = []event.Target{configMaps} })
	one := testobject.Parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"1","resourceVersion":"1"}}`)
	s.deliver(event.Event{Type: event.Added, Initial: true, Target: configMaps, Object: one}, event.Event{Type: event.Synced, Target: configMaps, Count: 1})
	s.shows(`^ the watched resources have no health status$`)
}

// TestUnsafeNames checks that names are escaped on the screen and in the clipboard, because they could control the terminal, or
// run commands when they are pasted into a shell.
func TestUnsafeNames(t *testing.T) {
	const name, escaped = "a\x1b[201~\ncurl x|sh\n\u200b", `a\u001b[201~\u000acurl x|sh\u000a\u200b`
	s := newScreen(t, 120, 24, func(o *Options) { o.Title = "prod\x1b]0;x\a\u202e: pods" })
	s.deliver(initial(pod(t, name, "Running", 1)), synced())
	s.shows(`^ prod\\u001b\]0;x\\u0007\\u202e: pods`)
	cmd := s.send(keyOf("y"))
	if cmd == nil {
		t.Fatal("y copies nothing")
	}
	if got, want := fmt.Sprint(cmd()), fmt.Sprint(tea.SetClipboard(escaped)()); got != want {
		t.Errorf("got %q in the clipboard, want %q", got, want)
	}
}

// TestKeysShown checks that the keys for help and quit have priority if there is no room for all keys.
func TestKeysShown(t *testing.T) {
	s := newScreen(t, 40, 10, nil)
	s.deliver(initial(pod(t, "web-a", "Running", 1)), synced())
	s.shows(`^ ↵ changes  d yaml  \? help  q quit$`)
	s.press("d")
	s.shows(`^ ↑↓←→ scroll  esc back `)
	s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.shows(`^ ↵ changes  .*↑↓←→ scroll  esc back$`)
	s.press("esc", "p")
	s.shows(`^ PAUSED 0 events since, p resumes  ↵ changes  .*  \? help  q quit$`)
}

// TestKeysInHelp checks that the help includes each key that moves the selection.
func TestKeysInHelp(t *testing.T) {
	keys, _, _ := strings.Cut(strings.TrimLeft(strings.SplitAfter(helpText, "# Keys")[1], "\n"), "\nenter")
	names := map[string]string{"up": "↑", "down": "↓", "pgdown": "pgdn", "home": "home", "end": "end", "shift+tab": "shift+tab"}
	for _, key := range []string{"up", "k", "down", "j", "pgup", "pgdown", "home", "g", "end", "G", "tab", "shift+tab"} {
		if !slices.Contains(strings.FieldsFunc(keys, func(r rune) bool { return strings.ContainsRune(" ,;:\n", r) }), cmp.Or(names[key], key)) {
			t.Errorf("%s is not in the help", key)
		}
	}
}

// TestSizes checks for many screen sizes and contents that a frame has neither too many nor too wide lines, and no control
// characters.
func TestSizes(t *testing.T) {
	long := strings.Repeat("a-long-name-", 6)
	hostile := "w\u0301e\x1b[31m\u202eb\u009b語語-" + long
	for _, size := range [][2]int{{40, 10}, {41, 11}, {60, 15}, {80, 24}, {100, 16}, {160, 45}, {300, 100}, {20, 5}, {3, 3}, {1, 1}} {
		s := newScreen(t, size[0], size[1], func(o *Options) {
			o.ShowNamespaces, o.Targets, o.Title = true, []event.Target{deploys, podsOf}, strings.Repeat("語 title ", 20)
		})
		fits := func() {
			t.Helper()
			lines := strings.Split(s.View().Content, "\n")
			if len(lines) > size[1] {
				t.Fatalf("got %d lines on a screen of %v", len(lines), size)
			}
			for _, line := range lines {
				if got := ansi.StringWidthWc(line); got > size[0] {
					t.Fatalf("got a line of width %d on a screen of %v: %q", got, size, line)
				}
				if plain := ansi.Strip(line); strings.ContainsAny(plain, "\x1b\u202e\u009b\t") {
					t.Fatalf("got control characters: %q", plain)
				}
			}
		}
		fits()
		for i := range 120 {
			s.deliver(initial(pod(t, fmt.Sprintf("web-%03d", i), "Running", 1)))
		}
		s.deliver(initial(pod(t, hostile, "Pending", 1)), synced())
		fits()
		s.Note(s.clock, "connection lost, trying again: "+long+"\x1b[2J")
		s.deliver(event.Event{Type: event.Disconnected})
		fits()
		for _, key := range []string{"down", "end", "up", "pgup", "tab", "enter", "end", "esc", "d", "right", "esc", "?", "end", "esc", "l", "esc", "s", "p", "p", "y"} {
			s.press(key)
			fits()
		}
		s.press("/")
		s.typed(strings.Repeat("語w", 50))
		fits()
		s.press("esc", "home")
		s.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		fits()
		s.send(tea.MouseClickMsg{Y: size[1] / 2})
		fits()
	}
}

// TestCursor checks that the selection stays on its object and in its line when other rows are added or removed.
func TestCursor(t *testing.T) {
	s := newScreen(t, 80, 20, nil)
	for i := range 40 {
		s.deliver(initial(pod(t, fmt.Sprintf("web-%02d", 2*i+10), "Running", 1)))
	}
	s.deliver(synced())
	for range 15 {
		s.press("down")
	}
	line := func() int {
		t.Helper()
		for i, line := range strings.Split(s.View().Content, "\n") {
			if strings.Contains(line, "\x1b[7mweb-40 ") || strings.Contains(line, "\x1b[7mweb-40") {
				return i
			}
		}
		t.Fatalf("web-40 is not selected:\n%s", s.text())
		return 0
	}
	before := line()
	s.deliver(event.Event{Type: event.Added, Object: pod(t, "web-11", "Running", 1)}, event.Event{Type: event.Added, Object: pod(t, "web-13", "Pending", 1)})
	s.pass(time.Second)
	if got := line(); got != before {
		t.Errorf("the selected row moved from line %d to %d", before, got)
	}
	s.send(tea.WindowSizeMsg{Width: 50, Height: 12})
	line()
	s.send(tea.WindowSizeMsg{Width: 80, Height: 20})
	s.press("end")
	s.shows(`web-88`)
	s.press("home")
	s.shows(`web-10 `)
	for range 10 {
		s.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	}
	s.lacks(`web-10 `)
	s.shows(`^   NAME `)
}

// TestFilter checks filters with words, excluded words and expressions.
func TestFilter(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) {
		o.CompileCondition = func(text string) (func(string, event.Object) bool, error) {
			if text != "pending" {
				return nil, fmt.Errorf("invalid expression: %s", text)
			}
			return func(_ string, o event.Object) bool { return strings.Contains(o.Raw(), `"phase":"Pending"`) }, nil
		}
	})
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Pending", 1)), initial(pod(t, "api-c", "Running", 1)), synced())
	s.press("/")
	s.typed("WEB !pend")
	s.shows(`^ /WEB !pend$`)
	s.shows(`web-a`)
	s.lacks(`web-b|api-c`)
	s.shows(`^ pods in shop  1 of 3 objects`)
	s.press("enter")
	s.deliver(event.Event{Type: event.Added, Object: pod(t, "web-d", "Running", 1)}, event.Event{Type: event.Added, Object: pod(t, "api-e", "Running", 1)})
	s.shows(`web-d`)
	s.lacks(`api-e`)
	s.send(tea.KeyPressMsg{Code: 's', Mod: tea.ModAlt}) // Escape followed quickly by s
	s.shows(`api-e`)
	s.shows(`sorted: name`)

	s.press("/")
	s.typed("where")
	s.shows(`api-e`) // may become an expression
	s.press("enter")
	s.shows(`no matches among 5 objects`) // is a word
	s.press("esc")

	s.press("/")
	s.typed("where nonsense")
	s.shows(`api-e`) // an expression applies only after Enter
	s.press("enter")
	s.shows(`invalid expression: nonsense`)
	for range len("nonsense") {
		s.press("backspace")
	}
	s.typed("pending")
	s.press("enter")
	s.shows(`web-b`)
	s.lacks(`web-a|api-c`)
	s.deliver(modified(pod(t, "web-b", "Running", 2)), modified(pod(t, "web-a", "Pending", 2)))
	s.shows(`web-a`)
	s.lacks(`web-b`)
}

// TestManagerFilter checks that who: shows only objects that a field manager changed, also together with words.
func TestManagerFilter(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	by := func(name, manager string) event.Event {
		o := pod(t, name, "Running", 1)
		text := strings.Replace(o.Raw(), `"labels"`, `"managedFields":[{"manager":"`+manager+`","operation":"Update"}],"labels"`, 1)
		return initial(event.NewObject(o.Identity, text).WithRow(o.Row()))
	}
	s.deliver(by("web-a", "argocd-controller"), by("web-b", "kubectl-edit"), by("api-c", "argocd-controller"), synced())
	s.press("/")
	s.typed("who:")
	s.shows(`web-b`) // the filter is not complete yet
	s.typed("Argo")
	s.press("enter")
	s.shows(`web-a`)
	s.shows(`api-c`)
	s.lacks(`web-b`)
	s.press("/")
	s.typed(" web")
	s.press("enter")
	s.shows(`web-a`)
	s.lacks(`web-b|api-c`)
	// Words match managers, too.
	s.press("esc", "/")
	s.typed("kubectl-ed")
	s.shows(`web-b`)
	s.lacks(`web-a|api-c`)
}

// TestChangesOfManager checks that with a who: filter, the changes of an object are limited to that manager, with the number of the
// others.
func TestChangesOfManager(t *testing.T) {
	s := newScreen(t, 100, 24, nil)
	by := func(version int, level, labels, field, manager string) event.Object {
		o := pod(t, "web-a", "Running", version)
		text := strings.Replace(o.Raw(), `"labels":{"app":"web"}`, `"managedFields":[{"manager":"`+manager+`","operation":"Update","time":"2026-01-31T09:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:`+field+`":{}}}}}],`+
			`"annotations":{"level":"`+level+`","note":"`+labels+`"},"labels":{"app":"web"}`, 1)
		return event.NewObject(o.Identity, text).WithRow(o.Row())
	}
	s.deliver(initial(by(1, "info", "a", "level", "argocd-controller")), synced())
	s.pass(time.Second)
	s.deliver(modified(by(2, "debug", "a", "level", "argocd-controller")))
	s.pass(time.Second)
	s.deliver(modified(by(3, "debug", "b", "note", "kubectl-edit")))
	s.press("enter")
	s.shows(`info → debug`)
	s.shows(`a → b`)
	s.press("esc", "/")
	s.typed("who:argo")
	s.press("enter")
	s.shows(`web-a`) // an earlier state has the manager, although it owns no field any more
	s.press("/", "backspace", "backspace", "backspace", "backspace")
	s.typed("flux")
	s.press("enter")
	s.lacks(`web-a`)
	s.press("/", "backspace", "backspace", "backspace", "backspace")
	s.typed("argo")
	s.press("enter")
	s.deliver(modified(by(4, "trace", "b", "level", "argocd-controller")))
	s.shows(`web-a`)
	s.press("enter")
	s.shows(`what argo changed of pods/web-a`)
	s.shows(`debug → trace`)
	s.shows(`1 change by other managers not shown \(/who:argo\)`)
	s.lacks(`a → b`)
	s.deliver(removed(by(5, "trace", "b", "level", "argocd-controller")))
	s.shows(`- po/web-a`) // deletions are always shown, because their author is unknown
	s.shows(`1 change by other managers not shown \(/who:argo\)`)
}

// TestChangesOfSeveralManagers checks that changes by any of several managers are shown, and that changes by other managers and by
// unknown managers are counted separately.
func TestChangesOfSeveralManagers(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	by := func(version int, level, manager string) event.Object {
		o := pod(t, "web-a", "Running", version)
		text := strings.Replace(o.Raw(), `"labels":{"app":"web"}`, `"managedFields":[{"manager":"`+manager+`","operation":"Update","time":"2026-01-31T09:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:level":{}}}}}],`+
			`"annotations":{"level":"`+level+`"},"labels":{"app":"web"}`, 1)
		return event.NewObject(o.Identity, text).WithRow(o.Row())
	}
	s.deliver(initial(by(1, "one", "argocd-controller")), synced())
	for i, manager := range []string{"argocd-controller", "kubectl-edit", "helm", ""} {
		s.clock = s.clock.Add(time.Second)
		s.deliver(modified(by(i+2, []string{"two", "three", "four", "five"}[i], manager)))
	}
	_, r := s.view.selected()
	got := strings.Join((&changeLog{details: s.details, who: []string{"argo", "kubectl"}}).lines(r, 90), "\n")
	for _, want := range []string{"one → two", "two → three", "1 change by other managers not shown (/who:argo who:kubectl)", "1 change by unknown managers not shown"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "three → four") || strings.Contains(got, "four → five") {
		t.Errorf("changes by other managers are shown:\n%s", got)
	}
}

// TestStatus checks that the STATUS and NAMESPACE columns remain readable on a narrow screen.
func TestStatus(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) { o.ShowNamespaces = true })
	crashes := func(namespace string) event.Event {
		e := initial(pod(t, "payments-69994f96b6-"+namespace[len(namespace)-2:], "Running", 1))
		e.Object.Identity.Namespace = namespace
		e.Object = e.Object.WithRow(strings.Replace(strings.Replace(e.Object.Row(), `"Running"`, `"CrashLoopBackOff"`, 1), `"0"`, `"31 (2m10s ago)"`, 1))
		return e
	}
	s.deliver(crashes("payments-production-eu"), crashes("payments-production-us"), synced())
	s.shows(`paym\S+-eu  payment\S+-eu .*CrashLoopBackOff`)
	s.shows(`paym\S+-us  payment\S+-us .*CrashLoopBackOff`)
}

// TestCrashLoop checks that a pod between two crashes and its workload count as failed until the loop ends by time, and that a
// recording shows both as of the shown time.
func TestCrashLoop(t *testing.T) {
	sets := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, "StatefulSet", true), Namespace: "shop"}
	set := testobject.Parse(t, `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"shop","uid":"s","generation":1,"resourceVersion":"1","creationTimestamp":"2026-01-31T08:00:00Z"},`+
		`"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"readyReplicas":1,"currentReplicas":1,"updatedReplicas":1,"currentRevision":"a","updateRevision":"a"}}`)
	loops := testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"shop","uid":"p","resourceVersion":"2","creationTimestamp":"2026-01-31T08:00:00Z","ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"s","controller":true}]},`+
		`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"app","restartCount":3,"ready":true,"state":{"running":{"startedAt":%q}},"lastState":{"terminated":{"reason":"Error","exitCode":1,"startedAt":%q,"finishedAt":%q}}}]}}`,
		start.Format(time.RFC3339), start.Add(-40*time.Second).Format(time.RFC3339), start.Add(-20*time.Second).Format(time.RFC3339)))
	targets := func(o *Options) { o.Targets = []event.Target{sets, podsOf} }
	s := newScreen(t, 120, 30, targets)
	existing := initial(set)
	existing.Target = sets
	s.deliver(existing, initial(loops), event.Event{Type: event.Synced, Target: sets, Count: 1}, synced())
	s.shows(`2 objects, 2 not ready`)
	s.pass(20 * time.Second) // the loop ends 40 seconds after the start
	s.shows(`2 objects, 2 not ready`)
	s.press("down")
	s.pass(20 * time.Second)
	s.lacks(`not ready`)

	r := newScreen(t, 120, 30, func(o *Options) { targets(o); o.Recording = &Recording{} })
	r.deliver(existing, initial(loops))
	end := start.Add(time.Minute)
	(&Screen{store: r.store}).SetLoaded(start, start, end, func(time.Time) string { return "" })
	r.send(tickMsg{})
	r.shows(`2 objects, 2 not ready`)
	r.press("]")
	r.lacks(`not ready`)
}

// TestState checks that rows show the reason why an object is not ready at any width, unless the server's columns do.
func TestState(t *testing.T) {
	columns := strings.Join([]string{definition("Name", "string", "name"), definition("Ready", "string", ""), definition("Up-to-date", "string", ""), definition("Available", "string", ""), definition("Age", "string", "")}, ",")
	deploy := func(name, condition string) event.Event {
		o := testobject.Parse(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"`+name+`","namespace":"shop","uid":"`+name+`","generation":1,"resourceVersion":"1","creationTimestamp":"2026-01-31T08:55:00Z"},`+
			`"spec":{"replicas":2},"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"unavailableReplicas":2,"conditions":[`+condition+`]}}`)
		e := initial(o.WithRow(`{"columnDefinitions":[` + columns + `],"cells":["` + name + `","0/2","2","0","5m"]}`))
		e.Target = deploys
		return e
	}
	progress := func(status, reason string) string {
		return `{"type":"Progressing","status":"` + status + `","reason":"` + reason + `"},{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable"}`
	}
	for _, width := range []int{40, 60, 80, 120, 160, 240} {
		s := newScreen(t, width, 24, func(o *Options) { o.Targets = []event.Target{deploys, podsOf} })
		s.deliver(deploy("cart", progress("False", "ProgressDeadlineExceeded")), deploy("search", progress("True", "ReplicaSetUpdated")), initial(pod(t, "web-a", "Running", 1)), synced())
		if width < 60 {
			s.shows(`(?i)✗ +cart +progress deadli…`)
			continue // there is no room for other columns
		} else {
			s.shows(`(?i)✗ +cart +progress deadline exceeded`)
		}
		s.shows(`◌ +search +0/2 pods availa`)
		s.shows(`AGE`)
		s.lacks(`PODS.* STATE`) // the server's columns have the reasons
	}
}

// TestSearch checks that the screen stays responsive while an expression is evaluated for many objects, with the previous rows, and
// that another filter or Escape ends the search.
func TestSearch(t *testing.T) {
	slow := func(want string) func(string, event.Object) bool {
		return func(_ string, o event.Object) bool {
			time.Sleep(synchronousTime / 10) // as for a large object
			return strings.Contains(o.Raw(), want)
		}
	}
	s := newScreen(t, 80, 24, func(o *Options) {
		o.CompileCondition = func(text string) (func(string, event.Object) bool, error) { return slow(text), nil }
	})
	for i := range 100 {
		s.deliver(initial(pod(t, fmt.Sprintf("web-%02d", i), "Running", 1)))
	}
	s.deliver(synced())
	enterFilter := func(expression string) tea.Cmd {
		s.press("/")
		s.send(tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
		s.typed(expression)
		return s.send(keyOf("enter"))
	}
	next := enterFilter("where web-07")
	if next == nil {
		t.Fatal("the search ended at once")
	}
	s.shows(`searching, \d+ % /where web-07 esc stops`)
	s.press("down")
	s.deliver(modified(pod(t, "web-00", "Failed", 2)))
	s.shows(`web-00 .*Failed`)
	s.shows(`web-03`)

	// Another filter replaces the search.
	if enterFilter("XYZ") != nil {
		t.Error("a filter with words needs a search")
	}
	s.shows(`no matches among 100 objects`)
	if s.send(next()) != nil {
		t.Error("the first search continues after another filter")
	}
	s.press("esc")
	s.shows(`web-03`)

	// A complete search includes objects that changed in the meantime.
	next = enterFilter("where Failed")
	s.deliver(modified(pod(t, "web-99", "Failed", 3)))
	for next != nil {
		s.shows(`searching`)
		next = s.send(next())
	}
	s.lacks(`searching`)
	s.shows(`2 of 100 objects`)
	s.shows(`web-00[\s\S]*web-99`)
	s.press("esc")
	s.shows(`100 objects`)

	// Escape ends the search and keeps the rows.
	next = enterFilter("where Failed")
	s.press("esc")
	s.lacks(`searching`)
	if s.send(next()) != nil {
		t.Error("the search continues after Escape")
	}
	s.shows(`^ pods in shop  100 objects`)
}

// TestSuspendOnce checks that a second Ctrl-Z before the process has stopped does not stop it again after it continues.
func TestSuspendOnce(t *testing.T) {
	s := newScreen(t, 40, 10, nil)
	ctrlZ := tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl}
	if s.send(ctrlZ) == nil {
		t.Fatal("Ctrl-Z does nothing")
	}
	if s.send(ctrlZ) != nil {
		t.Error("the second Ctrl-Z suspends the process again")
	}
}

// TestPaste checks that text that is pasted into a filter becomes one line, and that other pasted text does not act as keys.
func TestPaste(t *testing.T) {
	s := newScreen(t, 40, 10, nil)
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Running", 1)), synced())
	s.send(tea.PasteMsg{Content: "q/p"})
	s.shows(`^ pods in shop  2 objects`)
	s.lacks(`PAUSED`)
	s.press("/")
	s.send(tea.PasteMsg{Content: "web-b\r\n"})
	s.shows(`^ /web-b$`)
	s.shows(`^   web-b`)
	s.lacks(`web-a`)

	// The end of a long filter is visible, with the caret after it.
	s.send(tea.PasteMsg{Content: strings.Repeat(" 語w", 40) + " end"})
	s.shows(`^ /….* end$`)
	if caret := s.View().Cursor; caret == nil || caret.X != 39 || caret.Y != 9 {
		t.Errorf("the caret is at %v, want 39, 9", caret)
	}
}

// TestFilterOnce checks that an expression is evaluated once per object, and not again for another order or a pause.
func TestFilterOnce(t *testing.T) {
	evaluated := 0
	s := newScreen(t, 80, 24, func(o *Options) {
		o.CompileCondition = func(string) (func(string, event.Object) bool, error) {
			return func(string, event.Object) bool { evaluated++; return true }, nil
		}
	})
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Running", 1)), synced())
	s.press("/")
	s.typed("where true")
	s.press("enter", "s", "p", "s", "p")
	s.shows(`2 of 2 objects`)
	if evaluated != 2 {
		t.Errorf("the expression was evaluated %d times, want 2", evaluated)
	}
}

// TestSort checks each sort order.
func TestSort(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Running", 1)), initial(pod(t, "web-c", "Pending", 1)), synced())
	s.pass(time.Minute)
	s.deliver(modified(pod(t, "web-b", "Running", 2)))
	for _, want := range []string{"web-c web-a web-b", "web-a web-b web-c", "web-a web-b web-c", "web-b web-a web-c", "web-c web-a web-b"} {
		if got := s.order(); got != want {
			t.Errorf("%s: got %s, want %s", orderNames[s.table.order], got, want)
		}
		s.press("s")
	}
}

// TestPause checks that a paused table does not change, and shows the current state when it resumes.
func TestPause(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	s.press("p")
	s.deliver(modified(pod(t, "web-a", "Running", 2)), event.Event{Type: event.Added, Object: pod(t, "web-b", "Running", 1)})
	s.pass(time.Minute)
	s.shows(`^◌  web-a  1/1    Pending  0         5m`)
	s.lacks(`web-b`)
	s.shows(`PAUSED 2 events since, p resumes`)
	s.press("p")
	s.shows(`web-a  1/1    Running  0         6m`)
	s.shows(`web-b`)
}

// TestDetails checks the pagers with the changes of an object, its YAML, the messages about the watch, and the help.
func TestDetails(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	s.press("enter")
	s.shows(`no changes since`)
	s.clock = s.clock.Add(time.Second)
	s.deliver(modified(pod(t, "web-a", "Running", 2)))
	s.shows(`~ po/web-a`)
	s.shows(`status.phase  Pending → Running`)
	s.clock = s.clock.Add(time.Second)
	s.Note(s.clock, "connection lost")
	s.clock = s.clock.Add(time.Second)
	s.deliver(modified(pod(t, "web-a", "Failed", 3)))
	s.shows(`status.phase  Pending → Running[\s\S]*! connection lost[\s\S]*status.phase  Running → Failed`)
	s.press("d")
	s.shows(`^   phase: Failed$`)
	s.deliver(modified(pod(t, "web-a", "Running", 4)))
	s.shows(`^   phase: Running$`)
	s.press("esc", "l")
	s.shows(`connection lost`)
	s.press("esc", "?")
	s.shows(`^ Keys$`)
}

// TestPagerTitle checks that the title of a pager shows the end of a long name, and that the help returns to the previous pager.
func TestPagerTitle(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	s.deliver(initial(pod(t, "web-with-a-name-that-is-far-too-long-for-this-screen-x2k4j", "Running", 1)), synced())
	s.press("d")
	s.shows(`^ YAML of pods/.*…\S*-x2k4j  `)
	s.press("?")
	s.shows(`^ Keys$`)
	s.press("?", "esc")
	s.shows(`^ YAML of pods/`)
	s.press("esc")
	s.shows(`^ pods in shop`)
}

// TestSecret checks that values of Secrets are masked.
func TestSecret(t *testing.T) {
	secrets := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true), Namespace: "shop"}
	secret := func(value string) event.Object {
		return testobject.Parse(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"shop","uid":"1","resourceVersion":"1","creationTimestamp":"2026-01-31T08:55:00Z"},"data":{"p":"`+value+`"}}`)
	}
	s := newScreen(t, 100, 30, func(o *Options) { o.Targets = []event.Target{secrets} })
	s.deliver(event.Event{Type: event.Added, Initial: true, Target: secrets, Object: secret("aHVudGVyMg==")}, event.Event{Type: event.Modified, Target: secrets, Object: secret("aHVudGVyMw==")})
	for key, want := range map[string]string{"enter": `data.p  <7 bytes, \w+> → <7 bytes, \w+>`, "d": `p: <7 bytes, \w+>`} {
		s.press(key)
		s.shows(want)
		s.lacks(`aHVudGVy|hunter`)
		s.press("esc")
	}
}

// TestEvents checks the pager with the Events about an object, and its text if there are none or fetching them fails.
func TestEvents(t *testing.T) {
	var found []kubeevent.Event
	var failure error
	s := newScreen(t, 100, 30, nil)
	s.deliver(initial(pod(t, "web-a", "Pending", 1)), synced())
	fetch := func() {
		t.Helper()
		cmd := s.send(keyOf("e"))
		s.shows(`fetching events`)
		s.send(cmd())
	}
	s.FetchEvents = func(_ context.Context, _ string, _ event.Object) ([]kubeevent.Event, error) { return found, failure }
	fetch()
	s.shows(`no events about it`)
	s.press("esc")
	failure = fmt.Errorf("no \x1b[31mright")
	fetch()
	s.shows(`no \\u001b\[31mright`)
	s.press("esc")
	failure, found = nil, []kubeevent.Event{{LastSeen: time.Now(), Type: "Warning", Reason: "FailedScheduling", Message: "no\nnode", ReportingComponent: "scheduler", Count: 3}}
	fetch()
	s.shows(`0s ago +×3 Warning FailedScheduling +scheduler$`)
	s.shows(`^ +no node$`)
	s.press("esc")
	found[0].InvolvedObject = owner.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: "web-a"}
	fetch()
	s.shows(`×3 Warning FailedScheduling +scheduler$`)
	s.press("esc")
	found[0].InvolvedObject.Name = "web-\x1b"
	fetch()
	s.shows(`×3 Warning FailedScheduling pod/web-\\u001b +scheduler$`)
}

// TestConnection checks how the screen shows the state of the connection, and the section with a lost or denied watch.
func TestConnection(t *testing.T) {
	s := newScreen(t, 100, 24, func(o *Options) { o.Targets = []event.Target{deploys, podsOf} })
	s.shows(`◌ connecting · no event yet`)
	s.deliver(initial(pod(t, "web-a", "Running", 1)), synced())
	s.shows(`◌ connecting, 1 of 2`)
	s.deliver(event.Event{Type: event.Synced, Target: deploys})
	s.shows(`● connected`)
	s.pass(time.Minute)
	s.Note(s.clock, "connection lost, trying again: refused")
	heard := s.clock.Add(-40 * time.Second)
	s.deliver(event.Event{Type: event.Disconnected, Heard: heard})
	s.pass(20 * time.Second)
	s.shows(`✗ connection lost 20s · last event 80s ago`)
	s.shows(`PODS 1 .*! as of ` + heard.Local().Format(time.TimeOnly) + `, connection lost`)
	s.shows(`^ ! \d\d:\d\d:\d\d connection lost, trying again: refused$`)
	s.send(tea.WindowSizeMsg{Width: 44, Height: 24})
	s.shows(`^   PODS 1 .*… +! as of \d\d:\d\d:\d\d$`)
	s.send(tea.WindowSizeMsg{Width: 100, Height: 24})
	s.Note(s.clock, "reconnected, nothing missed")
	s.deliver(event.Event{Type: event.Reconnected})
	s.shows(`● connected`)
	s.shows(`reconnected, nothing missed`)
	s.pass(time.Minute)
	s.lacks(`reconnected|as of`)
	s.deliver(event.Event{Type: event.Denied, Target: deploys})
	s.shows(`✗ denied`)
	s.shows(`^   DEPLOYMENTS.*! denied, trying again`)
}

// TestPosition checks that the screen shows the range of visible rows if not all rows are visible.
func TestPosition(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) { o.Targets = []event.Target{deploys, podsOf} })
	s.deliver(event.Event{Type: event.Added, Initial: true, Object: pod(t, "web-d", "Running", 1), Target: deploys})
	for i := range 16 {
		s.deliver(initial(pod(t, fmt.Sprintf("web-%02d", i), "Running", 1)))
	}
	s.deliver(synced())
	s.lacks(` of 17`)
	s.deliver(initial(pod(t, "web-16", "Running", 1)))
	s.shows(` 1-17 of 18$`)
	s.press("down")
	s.shows(`^ pods/web-00 +1-17 of 18$`)
	s.press("end")
	s.shows(` 2-18 of 18$`)
	s.lacks(`web-d`)
	s.shows(`^   web-00 `)
	s.Note(s.clock, strings.Repeat("notes get more room than the range ", 4))
	s.send(changedMsg{})
	s.shows(`^ ! .{72,}…$`)
	s.pass(time.Minute)
	s.send(tea.WindowSizeMsg{Width: 30, Height: 24})
	s.shows(`^ pods/web-16 +2-18 of 18$`)
	s.send(tea.WindowSizeMsg{Width: 20, Height: 24})
	s.shows(`^ pods/web-16$`)
	s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.press("d")
	s.lacks(` of 18`)
}

// TestStableTopLine checks that advancing ages do not move the other words in the top line.
func TestStableTopLine(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) { o.Title = "deployments, replicasets, pods in shop" })
	s.deliver(initial(pod(t, "web-a", "Running", 1)), synced())
	at := func() string {
		line, _, _ := strings.Cut(s.text(), "\n")
		before, _, _ := strings.Cut(line, "last event")
		return before
	}
	for _, lost := range []bool{false, true} {
		if lost {
			s.deliver(event.Event{Type: event.Disconnected})
		}
		want := at()
		for range 700 {
			s.pass(time.Second)
			got, want := at(), want
			if _, state, _ := strings.Cut(got, "✗"); lost { // ignore the age itself
				got, want = strings.TrimSuffix(got, "✗"+state), want[:strings.Index(want, "✗")]
			}
			if got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
}

// TestWhere checks that objects leave the table when --where no longer selects them.
func TestWhere(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) {
		o.Where = func(e *event.Event) bool { return strings.Contains(e.Object.Raw(), `"phase":"Pending"`) }
	})
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Pending", 1)), synced())
	s.shows(`1 object,`)
	s.lacks(`web-a`)
	s.deliver(modified(pod(t, "web-b", "Running", 2)), modified(pod(t, "web-a", "Pending", 2)))
	s.lacks(`web-b`)
	s.shows(`web-a`)
}

// TestHistory checks that the changes of an object with very many states have a note about the dropped ones.
func TestHistory(t *testing.T) {
	const changes = 150
	s := newScreen(t, 100, 30, nil)
	s.deliver(initial(pod(t, "web-a", "Running", 1)), initial(pod(t, "web-b", "Running", 1)), synced())
	for i := range changes {
		s.clock = s.clock.Add(time.Second)
		s.deliver(modified(pod(t, "web-a", fmt.Sprint("Phase-", i), i+2)))
		if i%7 == 0 {
			s.deliver(modified(pod(t, "web-b", fmt.Sprint("Phase-", i), i+2)), removed(pod(t, "web-b", "Running", 1)), event.Event{Type: event.Added, Object: pod(t, "web-b", "Running", 1)})
		}
		s.pass(0)
	}
	s.press("s", "home", "enter", "home")
	s.shows(`… \d+ states in between are no longer retained`)
	s.press("end")
	s.shows(fmt.Sprintf("Phase-%d → Phase-%d", changes-2, changes-1))
}

// TestConcurrent delivers events while the screen is drawn and keys are pressed.
func TestConcurrent(t *testing.T) {
	s := newScreen(t, 100, 30, nil)
	var events []event.Event
	for i := range 2000 {
		e := event.Event{Type: event.Modified, Target: podsOf, Time: start, Object: pod(t, fmt.Sprintf("web-%03d", i%200), []string{"Running", "Pending"}[i/200%2], i+1)}
		switch {
		case i < 200:
			e.Type, e.Initial = event.Added, true
		case i%17 == 0:
			e.Type = event.Deleted
		}
		events = append(events, e)
	}
	done := make(chan error, 1)
	go func() {
		for i := range events {
			if err := s.Deliver(t.Context(), events[i:i+1]); err != nil {
				done <- err
				return
			}
			s.Note(start, "note")
		}
		done <- nil
	}()
	// The keys of a round end in the table, resumed.
	round := []string{"down", "s", "p", "enter", "end", "esc", "p", "d", "esc", "end", "l", "esc", "home"}
	for {
		for _, key := range round {
			s.press(key)
			s.send(changedMsg{})
			s.pass(100 * time.Millisecond)
			if s.text() == "" {
				t.Fatal("the frame is empty")
			}
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			s.send(changedMsg{})
			s.shows(`web-\d+ `)
			return
		default:
		}
	}
}

// TestProblems checks the list of problems above the table, and that it needs a minimum height.
func TestProblems(t *testing.T) {
	s := newScreen(t, 120, 24, nil)
	s.deliver(initial(pod(t, "web-0", "Running", 1)))
	s.shows(`^ problems unknown until all watches are connected$`)
	s.deliver(synced())
	s.pass(time.Second)
	s.shows(`^ no problems$`)
	rows := s.above()
	s.deliver(modified(pod(t, "web-0", "Failed", 2)))
	s.pass(time.Second)
	s.shows(`^ ✗ po/web-0  the pod failed  since \d\d:\d\d:\d\d$`)
	for i := range 9 {
		s.deliver(modified(pod(t, fmt.Sprintf("api-%d", i), "Failed", 2)))
	}
	s.pass(time.Second)
	s.shows(`^ … and 7 more$|^   … and 7 more$`)
	if got := s.above() - rows; got != 4 {
		t.Errorf("the list of problems takes %d more lines, want 4", got)
	}
	s.press("enter")
	s.lacks(`and 7 more`)
	s.press("esc")
	s.send(tea.WindowSizeMsg{Width: 120, Height: roomyHeight - 1})
	s.lacks(`and 7 more`)
	s.send(tea.WindowSizeMsg{Width: 20, Height: 24})
	s.shows(`^ ✗ po/api-0 .*…$`)
	s.send(tea.WindowSizeMsg{Width: 120, Height: 24})
	s.deliver(modified(pod(t, "web-0", "Running", 3)))
	for i := range 9 {
		s.deliver(removed(pod(t, fmt.Sprintf("api-%d", i), "Failed", 2)))
	}
	s.pass(2 * time.Second)
	s.shows(`^ ● po/web-0  .*recovered \d+s ago$`)
	s.pass(time.Minute)
	s.shows(`^ no problems$`)
}

// TestCauseLine checks that the change before a problem is on a second line if there is no room for it on the first.
func TestCauseLine(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	imaged := func(phase string, version int, image string) event.Object {
		o := pod(t, "web-0", phase, version)
		return testobject.Parse(t, strings.Replace(o.Raw(), "web:1", image, 1)).WithRow(o.Row())
	}
	s.deliver(initial(imaged("Running", 1, "registry/checkout:1")), synced())
	s.pass(time.Second)
	s.deliver(modified(imaged("Running", 2, "registry/payments:2")))
	s.pass(time.Second)
	s.deliver(modified(imaged("Failed", 3, "registry/payments:2")))
	s.pass(time.Second)
	s.shows(`^ ✗ po/web-0  the pod failed  since \d\d:\d\d:\d\d$`)
	s.shows(`^     after image registry/checkout:1 → registry/payments:2$`)
	s.send(tea.WindowSizeMsg{Width: 160, Height: 24})
	s.shows(`^ ✗ po/web-0  the pod failed  since \d\d:\d\d:\d\d  after image .*payments:2$`)
}

// TestCutTitle checks that a shortened title keeps the cluster and the namespace, and as many resources as there is room for.
func TestCutTitle(t *testing.T) {
	c := &canvas{Method: ansi.WcWidth}
	for _, test := range []struct {
		room int
		want string
	}{
		{80, "admin: pods, configmaps in namespace shop"},
		{34, "admin: pods, configmaps in shop"},
		{28, "admin: pods, config… in shop"},
		{10, "admin: po…"},
	} {
		got := c.cutTitle("admin: pods, configmaps in namespace shop", test.room)
		if w := c.StringWidth(got); w > test.room || got != test.want {
			t.Errorf("width %d: got %q, want %q", test.room, got, test.want)
		}
	}
}
