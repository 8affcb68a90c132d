package ledger

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// TestCheck compares a ledger with a list at resource version 10. Objects are missed if they still
// differ once all events up to that version have been observed.
func TestCheck(t *testing.T) {
	observed := func(kind event.Type, name, uid, version string) event.Event {
		return event.Event{Type: kind, Object: event.NewObject(&event.Identity{Name: name, UID: types.UID(uid), ResourceVersion: version}, "")}
	}
	added, modified, deleted := event.Added, event.Modified, event.Deleted
	listed := func(uid, version string) *event.Identity {
		return &event.Identity{Name: "a", UID: types.UID(uid), ResourceVersion: version}
	}
	for name, test := range map[string]struct {
		before, during, after []event.Event // observed before BeginCheck, before Compare, before EndCheck
		listed                []*event.Identity
		differing, missed     int
	}{
		"same":                          {before: []event.Event{observed(added, "a", "1", "5")}, listed: []*event.Identity{listed("1", "5")}},
		"changed after the list":        {before: []event.Event{observed(added, "a", "1", "5"), observed(modified, "a", "1", "11")}, listed: []*event.Identity{listed("1", "5")}},
		"created after the list":        {during: []event.Event{observed(added, "a", "1", "11")}},
		"deleted after the list":        {before: []event.Event{observed(added, "a", "1", "5")}, during: []event.Event{observed(deleted, "a", "1", "11")}, listed: []*event.Identity{listed("1", "5")}},
		"recreated after the list":      {before: []event.Event{observed(added, "a", "1", "5")}, during: []event.Event{observed(deleted, "a", "1", "11"), observed(added, "a", "2", "12")}, listed: []*event.Identity{listed("1", "5")}},
		"creation delayed":              {after: []event.Event{observed(added, "a", "1", "9")}, listed: []*event.Identity{listed("1", "9")}, differing: 1},
		"change delayed":                {before: []event.Event{observed(added, "a", "1", "5")}, after: []event.Event{observed(modified, "a", "1", "9")}, listed: []*event.Identity{listed("1", "9")}, differing: 1},
		"deletion delayed":              {before: []event.Event{observed(added, "a", "1", "5")}, after: []event.Event{observed(deleted, "a", "1", "9")}, differing: 1},
		"creation and deletion delayed": {after: []event.Event{observed(added, "a", "1", "9"), observed(deleted, "a", "1", "12")}, listed: []*event.Identity{listed("1", "9")}, differing: 1},
		"recreation delayed":            {before: []event.Event{observed(added, "a", "1", "5")}, after: []event.Event{observed(added, "a", "2", "9")}, listed: []*event.Identity{listed("2", "9")}, differing: 1},
		"creation missed":               {listed: []*event.Identity{listed("1", "9")}, differing: 1, missed: 1},
		"change missed":                 {before: []event.Event{observed(added, "a", "1", "5")}, listed: []*event.Identity{listed("1", "9")}, differing: 1, missed: 1},
		"deletion missed":               {before: []event.Event{observed(added, "a", "1", "5")}, differing: 1, missed: 1},
		"recreation missed":             {before: []event.Event{observed(added, "a", "1", "5")}, listed: []*event.Identity{listed("2", "9")}, differing: 1, missed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(schema.GroupVersionKind{}, false)
			observeAll := func(events []event.Event) {
				for _, e := range events {
					l.Observe(nil, e)
				}
			}
			observeAll(test.before)
			l.BeginCheck()
			observeAll(test.during)
			if differing := l.Compare(test.listed, "10"); differing != test.differing {
				t.Errorf("Compare returned %d, want %d", differing, test.differing)
			}
			observeAll(test.after)
			if missed := l.EndCheck(); len(missed) != test.missed || slices.ContainsFunc(missed, func(k cache.ObjectName) bool { return k.Name != "a" }) {
				t.Errorf("missed %v, want %d", missed, test.missed)
			}
		})
	}
}
