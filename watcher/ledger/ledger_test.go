package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// state is one state of an object, written as name/uid/resourceVersion.
func state(text string) event.Object {
	if text == "" {
		return event.Object{}
	}
	parts := strings.Split(text, "/")
	return event.NewObject(&event.Identity{Name: parts[0], UID: types.UID(parts[1]), ResourceVersion: parts[2]}, "")
}

func describe(e event.Event) string {
	text := fmt.Sprintf("%s %s/%s/%s", e.Type, e.Object.Name, e.Object.UID, e.Object.ResourceVersion)
	if e.Initial {
		text += " initial"
	}
	if e.FinalStateUnknown {
		text += " unknown"
	}
	if !e.Old.IsZero() {
		text += " old " + e.Old.ResourceVersion
	}
	return text
}

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

func seen(text string) event.Event { return event.Event{Object: state(text)} }
func deleted(text string) event.Event {
	return event.Event{Type: event.Deleted, Object: state(text)}
}

func TestObserve(t *testing.T) {
	for name, test := range map[string]struct {
		before []event.Event
		then   event.Event
		want   []string
	}{
		"unknown object":               {nil, seen("a/1/5"), []string{"ADDED a/1/5"}},
		"initial object":               {nil, event.Event{Object: state("a/1/5"), Initial: true}, []string{"ADDED a/1/5 initial"}},
		"newer":                        {[]event.Event{seen("a/1/5")}, seen("a/1/6"), []string{"MODIFIED a/1/6"}},
		"newer by more digits":         {[]event.Event{seen("a/1/9")}, seen("a/1/10"), []string{"MODIFIED a/1/10"}},
		"the same":                     {[]event.Event{seen("a/1/5")}, seen("a/1/5"), nil},
		"older":                        {[]event.Event{seen("a/1/5")}, seen("a/1/4"), nil},
		"older, but listed":            {[]event.Event{seen("a/1/5")}, event.Event{Object: state("a/1/4"), Listed: true}, []string{"MODIFIED a/1/4"}},
		"another object":               {[]event.Event{seen("a/1/5")}, seen("b/2/4"), []string{"ADDED b/2/4"}},
		"recreated":                    {[]event.Event{seen("a/1/5")}, seen("a/2/7"), []string{"DELETED a/1/5 unknown", "ADDED a/2/7"}},
		"deleted":                      {[]event.Event{seen("a/1/5")}, deleted("a/1/6"), []string{"DELETED a/1/6"}},
		"deleted twice":                {[]event.Event{seen("a/1/5"), deleted("a/1/6")}, deleted("a/1/6"), nil},
		"deleted, never reported":      {nil, deleted("a/1/6"), nil},
		"an earlier one deleted":       {[]event.Event{seen("a/2/7")}, deleted("a/1/6"), nil},
		"created again after deletion": {[]event.Event{seen("a/1/5"), deleted("a/1/6")}, seen("a/2/8"), []string{"ADDED a/2/8"}},
		"versions that are no numbers": {[]event.Event{seen("a/1/x")}, seen("a/1/b"), []string{"MODIFIED a/1/b"}},
		"the same that is no number":   {[]event.Event{seen("a/1/x")}, seen("a/1/x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(deployments, false)
			for _, o := range test.before {
				l.Observe(nil, o)
			}
			var got []string
			for _, e := range l.Observe(nil, test.then) {
				got = append(got, describe(e))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if again := l.Observe(nil, test.then); len(again) > 0 {
				t.Errorf("observed again: %v", describe(again[0]))
			}
		})
	}
}

func TestSweep(t *testing.T) {
	l := New(deployments, false)
	l.Observe(nil, seen("kept/1/1"))
	l.Observe(nil, seen("lost/2/2"))
	l.Observe(nil, seen("stale/3/3"))
	l.Begin()
	l.Observe(nil, seen("kept/1/1"))
	l.Observe(nil, seen("new/4/4"))
	l.Observe(nil, seen("stale/3/2"))
	events := l.Sweep(nil)
	var got []string
	for _, e := range events {
		got = append(got, describe(e))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"DELETED lost/2/2 unknown"}, got); diff != "" {
		t.Error(diff)
	}
	if gvk := events[0].Object.GroupVersionKind(); gvk != deployments {
		t.Errorf("the identity of what was lost is of kind %v", gvk)
	}
	if again := l.Sweep(nil); len(again) > 0 {
		t.Errorf("swept twice: %v", again)
	}
}

// TestKeep: a ledger that keeps content has it of the last state, also of one that an earlier
// run reported.
func TestKeep(t *testing.T) {
	full := func(uid, version, content string) event.Event {
		return event.Event{Object: event.NewObject(&event.Identity{Name: "a", UID: types.UID(uid), ResourceVersion: version}, content)}
	}
	l := New(deployments, true)
	l.Restore(event.Reported{Name: "a", UID: "1", ResourceVersion: "5"})
	l.Begin()
	same := full("1", "5", `{"five":5}`)
	same.Listed = true
	events := l.Observe(nil, same)
	events = l.Observe(events, full("1", "6", `{"six":6}`))
	events = l.Observe(events, full("2", "7", `{"seven":7}`))
	l.Begin()
	events = l.Sweep(events)
	if len(events) != 4 {
		t.Fatalf("%d events: %v", len(events), events)
	}
	if old := events[0].Old; old.IsZero() || old.Raw() != `{"five":5}` || old.ResourceVersion != "5" {
		t.Errorf("the old state: %v", old)
	}
	for i, want := range []string{`{"six":6}`, `{"six":6}`, `{"seven":7}`, `{"seven":7}`} {
		if got := events[i].Object.Raw(); got != want {
			t.Errorf("%s %s, want %s", events[i].Type, got, want)
		}
	}
}

// TestRestoreDigests: what an earlier run kept of a state goes with the event that comes after it, as
// long as nothing else is known of it.
func TestRestoreDigests(t *testing.T) {
	for _, keep := range []bool{true, false} {
		l := New(deployments, keep)
		for _, r := range []event.Reported{
			{Name: "changed", UID: "1", ResourceVersion: "1", Digests: "a"},
			{Name: "unsure", UID: "2", ResourceVersion: "1", Digests: "b", Unsure: true},
			{Name: "same", UID: "3", ResourceVersion: "1", Digests: "c"},
			{Name: "anew", UID: "4", ResourceVersion: "1", Digests: "d"},
		} {
			l.Restore(r)
		}
		l.Begin()
		var events []event.Event
		for _, o := range []string{"changed/1/2", "changed/1/3", "unsure/2/2", "same/3/1", "same/3/2", "anew/5/2"} {
			events = l.Observe(events, seen(o))
		}
		var got []string
		for _, e := range events {
			got = append(got, describe(e)+" "+e.Digests)
			if !e.Old.IsZero() && e.Digests != "" {
				t.Errorf("%s has both", describe(e))
			}
		}
		want := []string{"MODIFIED changed/1/2 a", "MODIFIED changed/1/3 old 2 ", "ADDED unsure/2/2 b", "MODIFIED same/3/2 old 1 ", "DELETED anew/4/1 unknown ", "ADDED anew/5/2 "}
		if !keep {
			want[0], want[1], want[2], want[3] = "MODIFIED changed/1/2 ", "MODIFIED changed/1/3 ", "ADDED unsure/2/2 ", "MODIFIED same/3/2 "
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRestore: what an earlier run reported counts, and what it may not have
// reported is reported first.
func TestRestore(t *testing.T) {
	l := New(deployments, false)
	for _, r := range []event.Reported{
		{Name: "same", UID: "1", ResourceVersion: "1"},
		{Name: "unsure", UID: "2", ResourceVersion: "2", Unsure: true},
		{Name: "twice", UID: "3", ResourceVersion: "3", Unsure: true},
		{Name: "twice", UID: "4", ResourceVersion: "4", Unsure: true},
		{Name: "gone", UID: "5", ResourceVersion: "5"},
	} {
		l.Restore(r)
	}
	l.Begin()
	var events []event.Event
	for _, o := range []string{"same/1/1", "unsure/2/2", "twice/4/4"} {
		events = l.Observe(events, seen(o))
	}
	events = l.Sweep(events)
	var got []string
	for _, e := range events {
		got = append(got, describe(e))
	}
	want := []string{"DELETED twice/3/3 unknown", "ADDED unsure/2/2", "ADDED twice/4/4", "DELETED gone/5/5 unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A wider target goes on from there.
	wider := New(deployments, false)
	wider.TakeOver(l)
	wider.Begin()
	if events := wider.Sweep(wider.Observe(nil, seen("same/1/1"))); len(events) != 2 || wider.Len() != 1 {
		t.Errorf("%d events, %d objects left", len(events), wider.Len())
	}
}

// TestListed: a MODIFIED that a list showed says so.
func TestListed(t *testing.T) {
	for _, listed := range []bool{true, false} {
		l := New(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, false)
		l.Observe(nil, seen("a/1/5"))
		events := l.Observe(nil, event.Event{Object: state("a/1/6"), Listed: listed})
		if len(events) != 1 || events[0].Type != event.Modified || events[0].Listed != listed {
			t.Errorf("%v, listed=%t", events, listed)
		}
	}
}
