package watcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"k8s.io/client-go/tools/cache"
)

// state is one state of an object, written as name/uid/resourceVersion.
func state(text string) Object {
	if text == "" {
		return Object{}
	}
	parts := strings.Split(text, "/")
	return event.NewObject(&event.Identity{Name: parts[0], UID: types.UID(parts[1]), ResourceVersion: parts[2]}, "")
}

func describeEvent(e Event) string {
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

func newLedger() *ledger {
	return &ledger{
		gvk:  schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		told: map[cache.ObjectName]entry{},
	}
}

func seen(text string) observation    { return observation{object: state(text)} }
func deleted(text string) observation { return observation{object: state(text), deleted: true} }

func TestLedgerObserve(t *testing.T) {
	for name, test := range map[string]struct {
		before []observation
		then   observation
		want   []string
	}{
		"unknown object":                {nil, seen("a/1/5"), []string{"ADDED a/1/5"}},
		"initial object":                {nil, observation{object: state("a/1/5"), initial: true}, []string{"ADDED a/1/5 initial"}},
		"newer":                         {[]observation{seen("a/1/5")}, seen("a/1/6"), []string{"MODIFIED a/1/6"}},
		"newer by more digits":          {[]observation{seen("a/1/9")}, seen("a/1/10"), []string{"MODIFIED a/1/10"}},
		"newer, with the old state":     {[]observation{seen("a/1/5")}, observation{object: state("a/1/6"), old: state("a/1/5")}, []string{"MODIFIED a/1/6 old 5"}},
		"the same":                      {[]observation{seen("a/1/5")}, seen("a/1/5"), nil},
		"older":                         {[]observation{seen("a/1/5")}, seen("a/1/4"), nil},
		"older, but listed":             {[]observation{seen("a/1/5")}, observation{object: state("a/1/4"), listed: true}, []string{"MODIFIED a/1/4"}},
		"another object":                {[]observation{seen("a/1/5")}, seen("b/2/4"), []string{"ADDED b/2/4"}},
		"recreated":                     {[]observation{seen("a/1/5")}, seen("a/2/7"), []string{"DELETED a/1/5 unknown", "ADDED a/2/7"}},
		"recreated, old state at hand":  {[]observation{seen("a/1/5")}, observation{object: state("a/2/7"), old: state("a/1/5")}, []string{"DELETED a/1/5 unknown", "ADDED a/2/7"}},
		"recreated, other state stored": {[]observation{seen("a/1/5")}, observation{object: state("a/3/9"), old: state("a/2/7")}, []string{"DELETED a/1/5 unknown", "ADDED a/3/9"}},
		"deleted":                       {[]observation{seen("a/1/5")}, deleted("a/1/6"), []string{"DELETED a/1/6"}},
		"deleted, found out later":      {[]observation{seen("a/1/5")}, observation{object: state("a/1/5"), deleted: true, unknown: true}, []string{"DELETED a/1/5 unknown"}},
		"deleted twice":                 {[]observation{seen("a/1/5"), deleted("a/1/6")}, deleted("a/1/6"), nil},
		"deleted, never told":           {nil, deleted("a/1/6"), nil},
		"an earlier one deleted":        {[]observation{seen("a/2/7")}, deleted("a/1/6"), nil},
		"created again after deletion":  {[]observation{seen("a/1/5"), deleted("a/1/6")}, seen("a/2/8"), []string{"ADDED a/2/8"}},
		"versions that are no numbers":  {[]observation{seen("a/1/x")}, seen("a/1/b"), []string{"MODIFIED a/1/b"}},
		"the same that is no number":    {[]observation{seen("a/1/x")}, seen("a/1/x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			for _, o := range test.before {
				l.observe(o)
			}
			var got []string
			for _, e := range l.observe(test.then) {
				got = append(got, describeEvent(e))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if again := l.observe(test.then); len(again) > 0 {
				t.Errorf("observed again: %v", describeEvent(again[0]))
			}
		})
	}
}

func TestLedgerSweep(t *testing.T) {
	l := newLedger()
	l.observe(seen("kept/1/1"))
	l.observe(seen("lost/2/2"))
	l.observe(seen("stale/3/3"))
	l.begin()
	l.observe(seen("kept/1/1"))
	l.observe(seen("new/4/4"))
	l.observe(seen("stale/3/2"))
	events := l.sweep()
	var got []string
	for _, e := range events {
		got = append(got, describeEvent(e))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"DELETED lost/2/2 unknown"}, got); diff != "" {
		t.Error(diff)
	}
	if gvk := events[0].Object.GroupVersionKind(); gvk != l.gvk {
		t.Errorf("the identity of what was lost is of kind %v", gvk)
	}
	if again := l.sweep(); len(again) > 0 {
		t.Errorf("swept twice: %v", again)
	}
}
