package ledger

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// TestCheck: what was missed is what differs from what the server named at 10, and still does when all
// up to there has been observed.
func TestCheck(t *testing.T) {
	see := func(kind event.Type, name, uid, version string) event.Event {
		return event.Event{Type: kind, Object: event.NewObject(&event.Identity{Name: name, UID: types.UID(uid), ResourceVersion: version}, "")}
	}
	added, modified, deleted := event.Added, event.Modified, event.Deleted
	named := func(uid, version string) *event.Identity {
		return &event.Identity{Name: "a", UID: types.UID(uid), ResourceVersion: version}
	}
	for name, test := range map[string]struct {
		before, meanwhile, after []event.Event // relative to the question, and to the answer
		named                    []*event.Identity
		differ, missed           int
	}{
		"the same":                         {before: []event.Event{see(added, "a", "1", "5")}, named: []*event.Identity{named("1", "5")}},
		"changed since":                    {before: []event.Event{see(added, "a", "1", "5"), see(modified, "a", "1", "11")}, named: []*event.Identity{named("1", "5")}},
		"created since":                    {meanwhile: []event.Event{see(added, "a", "1", "11")}},
		"deleted since":                    {before: []event.Event{see(added, "a", "1", "5")}, meanwhile: []event.Event{see(deleted, "a", "1", "11")}, named: []*event.Identity{named("1", "5")}},
		"created anew since":               {before: []event.Event{see(added, "a", "1", "5")}, meanwhile: []event.Event{see(deleted, "a", "1", "11"), see(added, "a", "2", "12")}, named: []*event.Identity{named("1", "5")}},
		"created on its way":               {after: []event.Event{see(added, "a", "1", "9")}, named: []*event.Identity{named("1", "9")}, differ: 1},
		"change on its way":                {before: []event.Event{see(added, "a", "1", "5")}, after: []event.Event{see(modified, "a", "1", "9")}, named: []*event.Identity{named("1", "9")}, differ: 1},
		"deletion on its way":              {before: []event.Event{see(added, "a", "1", "5")}, after: []event.Event{see(deleted, "a", "1", "9")}, differ: 1},
		"created and deleted on their way": {after: []event.Event{see(added, "a", "1", "9"), see(deleted, "a", "1", "12")}, named: []*event.Identity{named("1", "9")}, differ: 1},
		"created anew on its way":          {before: []event.Event{see(added, "a", "1", "5")}, after: []event.Event{see(added, "a", "2", "9")}, named: []*event.Identity{named("2", "9")}, differ: 1},
		"missed creation":                  {named: []*event.Identity{named("1", "9")}, differ: 1, missed: 1},
		"missed change":                    {before: []event.Event{see(added, "a", "1", "5")}, named: []*event.Identity{named("1", "9")}, differ: 1, missed: 1},
		"missed deletion":                  {before: []event.Event{see(added, "a", "1", "5")}, differ: 1, missed: 1},
		"missed both":                      {before: []event.Event{see(added, "a", "1", "5")}, named: []*event.Identity{named("2", "9")}, differ: 1, missed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(schema.GroupVersionKind{}, false)
			observe := func(all []event.Event) {
				for _, e := range all {
					l.Observe(nil, e)
				}
			}
			observe(test.before)
			l.BeginCheck()
			observe(test.meanwhile)
			if differ := l.Compare(test.named, "10"); differ != test.differ {
				t.Errorf("%d differ, want %d", differ, test.differ)
			}
			observe(test.after)
			if missed := l.EndCheck(); len(missed) != test.missed || slices.ContainsFunc(missed, func(k cache.ObjectName) bool { return k.Name != "a" }) {
				t.Error(fmt.Errorf("missed %v, want %d", missed, test.missed))
			}
		})
	}
}
