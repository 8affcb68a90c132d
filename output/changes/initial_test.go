package changes

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

var pods = event.Target{
	Mapping:   event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true),
	Namespace: "shop",
}

func podAtStart(t *testing.T, name, phase, rest string) event.Event {
	o := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`","uid":"`+name+`","creationTimestamp":"2026-01-31T09:00:00Z"},"status":{"phase":"`+phase+`",`+rest+`}}`)
	return event.Event{Type: event.Added, Initial: true, Target: pods, Time: at, Object: o}
}

// TestTally checks the summary of the initial objects, with the first failed one.
func TestTally(t *testing.T) {
	loop := func(name string) event.Event {
		return podAtStart(t, name, "Running", `"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]`)
	}
	ready := podAtStart(t, "ready", "Running", `"conditions":[{"type":"Ready","status":"True"}]`)
	done := podAtStart(t, "done", "Succeeded", `"conditions":[{"type":"Ready","status":"False"}]`)
	fresh := podAtStart(t, "fresh", "Pending", `"conditions":[]`)
	for want, all := range map[string][]event.Event{
		"2 pods in shop": {ready, done},
		"2 pods in shop, 1 failed: po/x7 CrashLoopBackOff (exit 1, 4 restarts)":              {ready, loop("x7")},
		"4 pods in shop, 2 failed, 1 not ready: po/x7 CrashLoopBackOff (exit 1, 4 restarts)": {fresh, loop("x7"), loop("x8"), done},
		"1 pod in shop, 1 not ready: po/fresh Pod is in the Pending phase":                   {fresh},
	} {
		var out bytes.Buffer
		o := options(0)
		o.ShortName = func(schema.GroupVersionResource) string { return "po" }
		v := New(&out, o)
		synced := event.Event{Type: event.Synced, Target: pods, Time: at, Count: len(all)}
		if err := v.Deliver(t.Context(), append(slices.Clone(all), synced, synced)); err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(out.String(), "\n")
		if got := first[len("00:00:00 = "):]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if strings.Contains(rest, "failed") {
			t.Errorf("the summary is repeated: %q", rest)
		}
	}
}

// TestTallyBeforeSynced checks that the summary includes all changes before the Synced event, and all objects or none.
func TestTallyBeforeSynced(t *testing.T) {
	pod := func(name, ready string) event.Event {
		return podAtStart(t, name, "Pending", `"conditions":[{"type":"Ready","status":"`+ready+`"}]`)
	}
	became := func(kind event.Type, old, now event.Event) event.Event {
		now.Type, now.Initial, now.Old = kind, false, old.Object
		return now
	}
	running := podAtStart(t, "a", "Running", `"conditions":[{"type":"Ready","status":"True"}]`)
	a, b, c := pod("a", "False"), pod("b", "False"), pod("c", "False")
	const because = " Pod is in the Pending phase"
	for name, test := range map[string]struct {
		events   []event.Event
		count    int
		filtered bool
		want     string
	}{
		"no changes":             {[]event.Event{a, b}, 2, false, "2 pods in shop, 2 not ready: po/a" + because},
		"became ready":           {[]event.Event{a, became(event.Modified, a, running)}, 1, false, "1 pod in shop"},
		"the first became ready": {[]event.Event{a, b, c, became(event.Modified, a, running)}, 3, false, "3 pods in shop, 2 not ready: po/b" + because},
		"became not ready":       {[]event.Event{running, became(event.Modified, running, a)}, 1, false, "1 pod in shop, 1 not ready: po/a" + because},
		"still not ready":        {[]event.Event{a, b, became(event.Modified, a, a)}, 2, false, "2 pods in shop, 2 not ready: po/a" + because},
		"deleted":                {[]event.Event{a, b, became(event.Deleted, event.Event{}, a)}, 1, false, "1 pod in shop, 1 not ready: po/b" + because},
		"created":                {[]event.Event{a, became(event.Added, event.Event{}, b)}, 2, false, "2 pods in shop, 2 not ready: po/a" + because},
		"one event missing":      {[]event.Event{a, b}, 3, false, "3 pods in shop"},
		"no initial event":       {[]event.Event{became(event.Added, event.Event{}, a)}, 1, false, "1 pod in shop"},
		"filtered":               {[]event.Event{a, b}, 2, true, "2 pods in shop, 2 not ready: po/a" + because},
	} {
		o := options(0)
		o.ShortName = func(schema.GroupVersionResource) string { return "po" }
		o.Prefiltered = test.filtered
		all := append(test.events, event.Event{Type: event.Synced, Target: pods, Time: at, Count: test.count})
		var out bytes.Buffer
		v, passing := New(&out, o), all
		if test.filtered {
			passing = all[len(all)-1:]
		}
		if err := cmp.Or(v.Count(append(all, became(event.Deleted, event.Event{}, a))), v.Deliver(t.Context(), passing)); err != nil { // Count ignores events after Synced
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(out.String(), " = ")
		if got = strings.TrimSuffix(got, "\n"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestCountOfNamed checks that the counts of several named objects of a resource contain the names.
func TestCountOfNamed(t *testing.T) {
	a, b := pods, pods
	a.Name, b.Name = "a", "b"
	for want, targets := range map[string][]event.Target{
		"00:00:00 = 1 pod in shop\n":                                   {a},
		"00:00:00 = 1 pod (a) in shop\n00:00:00 = 1 pod (b) in shop\n": {a, b},
	} {
		o := options(0)
		o.Targets = targets
		var events []event.Event
		for _, target := range targets {
			events = append(events, event.Event{Type: event.Synced, Target: target, Count: 1})
		}
		if got := shown(t, o, events...); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
