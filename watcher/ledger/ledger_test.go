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

// parseObject parses name/uid/resourceVersion.
func parseObject(text string) event.Object {
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

func observed(text string) event.Event { return event.Event{Object: parseObject(text)} }

func deleted(text string) event.Event {
	return event.Event{Type: event.Deleted, Object: parseObject(text)}
}

func TestObserve(t *testing.T) {
	for name, test := range map[string]struct {
		before []event.Event
		then   event.Event
		want   []string
	}{
		"new object":                    {nil, observed("a/1/5"), []string{"ADDED a/1/5"}},
		"initial object":                {nil, event.Event{Object: parseObject("a/1/5"), Initial: true}, []string{"ADDED a/1/5 initial"}},
		"newer":                         {[]event.Event{observed("a/1/5")}, observed("a/1/6"), []string{"MODIFIED a/1/6"}},
		"newer with more digits":        {[]event.Event{observed("a/1/9")}, observed("a/1/10"), []string{"MODIFIED a/1/10"}},
		"same version":                  {[]event.Event{observed("a/1/5")}, observed("a/1/5"), nil},
		"older":                         {[]event.Event{observed("a/1/5")}, observed("a/1/4"), nil},
		"older but listed":              {[]event.Event{observed("a/1/5")}, event.Event{Object: parseObject("a/1/4"), Listed: true}, []string{"MODIFIED a/1/4"}},
		"another object":                {[]event.Event{observed("a/1/5")}, observed("b/2/4"), []string{"ADDED b/2/4"}},
		"recreated":                     {[]event.Event{observed("a/1/5")}, observed("a/2/7"), []string{"DELETED a/1/5 unknown", "ADDED a/2/7"}},
		"deleted":                       {[]event.Event{observed("a/1/5")}, deleted("a/1/6"), []string{"DELETED a/1/6"}},
		"deleted twice":                 {[]event.Event{observed("a/1/5"), deleted("a/1/6")}, deleted("a/1/6"), nil},
		"deleted but never reported":    {nil, deleted("a/1/6"), nil},
		"earlier object deleted":        {[]event.Event{observed("a/2/7")}, deleted("a/1/6"), nil},
		"created again after deletion":  {[]event.Event{observed("a/1/5"), deleted("a/1/6")}, observed("a/2/8"), []string{"ADDED a/2/8"}},
		"versions that are not numbers": {[]event.Event{observed("a/1/x")}, observed("a/1/b"), []string{"MODIFIED a/1/b"}},
		"same version, not a number":    {[]event.Event{observed("a/1/x")}, observed("a/1/x"), nil},
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
				t.Errorf("second observation reported %s", describe(again[0]))
			}
		})
	}
}

func TestSweep(t *testing.T) {
	l := New(deployments, false)
	l.Observe(nil, observed("present/1/1"))
	l.Observe(nil, observed("missing/2/2"))
	l.Observe(nil, observed("stale/3/3"))
	l.BeginSync()
	l.Observe(nil, observed("present/1/1"))
	l.Observe(nil, observed("new/4/4"))
	l.Observe(nil, observed("stale/3/2"))
	events := l.Sweep(nil)
	var got []string
	for _, e := range events {
		got = append(got, describe(e))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"DELETED missing/2/2 unknown"}, got); diff != "" {
		t.Error(diff)
	}
	if gvk := events[0].Object.GroupVersionKind(); gvk != deployments {
		t.Errorf("deleted object has kind %v, want %v", gvk, deployments)
	}
	if again := l.Sweep(nil); len(again) > 0 {
		t.Errorf("second sweep reported %v", again)
	}
}

// TestRetainContent checks that events have the content of the last state, including a state that an
// earlier run reported.
func TestRetainContent(t *testing.T) {
	full := func(uid, version, content string) event.Event {
		return event.Event{Object: event.NewObject(&event.Identity{Name: "a", UID: types.UID(uid), ResourceVersion: version}, content)}
	}
	l := New(deployments, true)
	l.Restore(event.ReportedObject{Name: "a", UID: "1", ResourceVersion: "5"})
	l.BeginSync()
	same := full("1", "5", `{"five":5}`)
	same.Listed = true
	events := l.Observe(nil, same)
	events = l.Observe(events, full("1", "6", `{"six":6}`))
	events = l.Observe(events, full("2", "7", `{"seven":7}`))
	l.BeginSync()
	events = l.Sweep(events)
	if len(events) != 4 {
		t.Fatalf("got %d events, want 4: %v", len(events), events)
	}
	if old := events[0].Old; old.IsZero() || old.Raw() != `{"five":5}` || old.ResourceVersion != "5" {
		t.Errorf("unexpected Old: %v", old)
	}
	for i, want := range []string{`{"six":6}`, `{"six":6}`, `{"seven":7}`, `{"seven":7}`} {
		if got := events[i].Object.Raw(); got != want {
			t.Errorf("%s %s, want %s", events[i].Type, got, want)
		}
	}
}

// TestRestoreDigests checks that the first event of a restored object has the digests that the
// earlier run saved, unless its content is known.
func TestRestoreDigests(t *testing.T) {
	for _, retain := range []bool{true, false} {
		l := New(deployments, retain)
		for _, r := range []event.ReportedObject{
			{Name: "changed", UID: "1", ResourceVersion: "1", Digests: "a"},
			{Name: "unconfirmed", UID: "2", ResourceVersion: "1", Digests: "b", Unconfirmed: true},
			{Name: "same", UID: "3", ResourceVersion: "1", Digests: "c"},
			{Name: "recreated", UID: "4", ResourceVersion: "1", Digests: "d"},
		} {
			l.Restore(r)
		}
		l.BeginSync()
		var events []event.Event
		for _, o := range []string{"changed/1/2", "changed/1/3", "unconfirmed/2/2", "same/3/1", "same/3/2", "recreated/5/2"} {
			events = l.Observe(events, observed(o))
		}
		var got []string
		for _, e := range events {
			got = append(got, describe(e)+" "+e.Digests)
			if !e.Old.IsZero() && e.Digests != "" {
				t.Errorf("%s has both Old and Digests", describe(e))
			}
		}
		want := []string{"MODIFIED changed/1/2 a", "MODIFIED changed/1/3 old 2 ", "ADDED unconfirmed/2/2 b", "MODIFIED same/3/2 old 1 ", "DELETED recreated/4/1 unknown ", "ADDED recreated/5/2 "}
		if !retain {
			want[0], want[1], want[2], want[3] = "MODIFIED changed/1/2 ", "MODIFIED changed/1/3 ", "ADDED unconfirmed/2/2 ", "MODIFIED same/3/2 "
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRestore checks that restored objects count as reported, that unconfirmed objects are reported
// again, and that deletions of replaced objects come first.
func TestRestore(t *testing.T) {
	l := New(deployments, false)
	for _, r := range []event.ReportedObject{
		{Name: "same", UID: "1", ResourceVersion: "1"},
		{Name: "unconfirmed", UID: "2", ResourceVersion: "2", Unconfirmed: true},
		{Name: "twice", UID: "3", ResourceVersion: "3", Unconfirmed: true},
		{Name: "twice", UID: "4", ResourceVersion: "4", Unconfirmed: true},
		{Name: "gone", UID: "5", ResourceVersion: "5"},
	} {
		l.Restore(r)
	}
	l.BeginSync()
	var events []event.Event
	for _, o := range []string{"same/1/1", "unconfirmed/2/2", "twice/4/4"} {
		events = l.Observe(events, observed(o))
	}
	events = l.Sweep(events)
	var got []string
	for _, e := range events {
		got = append(got, describe(e))
	}
	want := []string{"DELETED twice/3/3 unknown", "ADDED unconfirmed/2/2", "ADDED twice/4/4", "DELETED gone/5/5 unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	merged := New(deployments, false)
	merged.Merge(l)
	merged.BeginSync()
	if events := merged.Sweep(merged.Observe(nil, observed("same/1/1"))); len(events) != 2 || merged.Len() != 1 {
		t.Errorf("after merge: got %d events and %d objects, want 2 and 1", len(events), merged.Len())
	}
}

// TestListed checks that a MODIFIED event takes Listed from the observation.
func TestListed(t *testing.T) {
	for _, listed := range []bool{true, false} {
		l := New(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, false)
		l.Observe(nil, observed("a/1/5"))
		events := l.Observe(nil, event.Event{Object: parseObject("a/1/6"), Listed: listed})
		if len(events) != 1 || events[0].Type != event.Modified || events[0].Listed != listed {
			t.Errorf("listed %t: got %v", listed, events)
		}
	}
}
