package output

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

// TestFoldSeries: of the states of one Event in a batch the last one counts, and the state
// before is that before all of them; nothing else is folded.
func TestFoldSeries(t *testing.T) {
	object := func(kind, uid string, count int) event.Object {
		return testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"a","uid":%q},"count":%d}`, kind, uid, count))
	}
	change := func(kind, uid string, count int) event.Event {
		return event.Event{Type: event.Modified, Object: object(kind, uid, count), Old: object(kind, uid, count-1)}
	}
	added, deleted, initial := change("Event", "1", 1), change("Event", "1", 9), change("Event", "1", 1)
	added.Type, deleted.Type, initial.Type, initial.Initial = event.Added, event.Deleted, event.Added, true
	added.Old, initial.Old = event.Object{}, event.Object{}
	synced := event.Event{Type: event.Synced}
	for name, test := range map[string]struct {
		batch []event.Event
		want  []string
	}{
		"it counts":          {[]event.Event{change("Event", "1", 2), change("Event", "1", 3), change("Event", "1", 4)}, []string{"MODIFIED 1→4"}},
		"it is new":          {[]event.Event{added, change("Event", "1", 2)}, []string{"ADDED 0→2"}},
		"two series":         {[]event.Event{change("Event", "1", 2), change("Event", "2", 8), change("Event", "1", 3), change("Event", "2", 9)}, []string{"MODIFIED 1→3", "MODIFIED 7→9"}},
		"it expires":         {[]event.Event{change("Event", "1", 2), deleted}, []string{"MODIFIED 1→2", "DELETED 8→9"}},
		"it was there":       {[]event.Event{initial, change("Event", "1", 2), change("Event", "1", 3)}, []string{"ADDED 0→1", "MODIFIED 1→3"}},
		"a mark in between":  {[]event.Event{change("Event", "1", 2), synced, change("Event", "1", 3)}, []string{"MODIFIED 1→2", "SYNCED", "MODIFIED 2→3"}},
		"it is no Event":     {[]event.Event{change("Pod", "1", 2), change("Pod", "1", 3)}, []string{"MODIFIED 1→2", "MODIFIED 2→3"}},
		"nothing to deliver": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			sink := CoalesceEventSeries(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
				for _, e := range batch {
					got = append(got, foldedLine(t, e))
				}
				return nil
			}))
			if err := sink.Deliver(t.Context(), test.batch); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// foldedLine is the type of an event, and its count before and after.
func foldedLine(t *testing.T, e event.Event) string {
	if e.Type.IsStatus() {
		return string(e.Type)
	}
	count := func(o event.Object) any {
		if o.IsZero() {
			return 0
		}
		u, err := o.Decode()
		if err != nil {
			t.Fatal(err)
		}
		return u.Object["count"]
	}
	return fmt.Sprintf("%s %v→%v", e.Type, count(e.Old), count(e.Object))
}

// TestCountSeries: a row says how often, and in what time, as "kubectl events" does.
func TestCountSeries(t *testing.T) {
	header := []string{"NAMESPACE", "LAST SEEN", "TYPE"}
	for count, want := range map[string]string{"7": "3s (x7 over 5m)", "1": "3s", "0": "3s", "": "3s", "many": "3s"} {
		cells := []string{"default", "3s", "Warning"}
		countSeries(header, cells, func(column string) string {
			return map[string]string{"Count": count, "First Seen": "5m"}[column]
		})
		if cells[1] != want {
			t.Errorf("count %q: %q, want %q", count, cells[1], want)
		}
	}
	cells := []string{"a"}
	countSeries([]string{"NAME"}, cells, func(string) string { return "3" })
	if cells[0] != "a" {
		t.Errorf("without the column: %q", cells)
	}
}
