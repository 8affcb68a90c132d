package recording

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/testdata/object"
	"dwatch/watcher/event"
)

// TestCompare checks that Compare returns the differences between two times, regardless of the events in between, and no
// differences if the objects at one of the times are not completely known.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Added, "same", 2, 3), of(t, event.Added, "gone", 3, 3), of(t, event.Added, "back", 4, 3))
	deliver(t, r, of(t, event.Modified, "web", 5, 10), of(t, event.Modified, "web", 6, 11), of(t, event.Added, "brief", 7, 11), of(t, event.Deleted, "brief", 7, 12))
	deliver(t, r, of(t, event.Deleted, "gone", 3, 12), of(t, event.Added, "new", 8, 12), of(t, event.Deleted, "back", 4, 13))
	again := of(t, event.Added, "back", 9, 14) // another object with the same name
	again.Object = object.Parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"back","namespace":"a","uid":"another","resourceVersion":"9"}}`)
	deliver(t, r, again)
	deliver(t, r, proven(15))
	deliver(t, r, statusEvent(event.Disconnected, 20))
	deliver(t, r, statusEvent(event.Gap, 30))
	for _, test := range []struct {
		from, to int
		want     []string
		unknown  bool
	}{
		{5, 15, []string{"DELETED gone 3", "DELETED back 4", "ADDED back 9", "ADDED new 8", "MODIFIED web 6 was 1"}, false},
		{5, 9, nil, false},
		{15, 30, nil, false},
		{5, 25, nil, true},
		{1, 15, nil, true},
	} {
		c, err := read(t, dir).Compare(t.Context(), Query{Targets: []event.Target{configMaps}}, at(test.from), at(test.to))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range c.Events {
			text := fmt.Sprint(e.Type, " ", e.Object.Name, " ", e.Object.ResourceVersion)
			if !e.Old.IsZero() {
				text += " was " + e.Old.ResourceVersion
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || test.unknown == (c.BeforeProof.IsComplete() && c.AfterProof.IsComplete()) {
			t.Errorf("%d to %d: differences (-want +got):\n%s\ngaps before: %v, after: %v, want gaps: %t", test.from, test.to, diff, gaps(c.BeforeProof), gaps(c.AfterProof), test.unknown)
		}
	}
	if c, err := read(t, dir).Compare(t.Context(), Query{Targets: []event.Target{configMaps}}, at(5), time.Time{}); err != nil || !c.AfterProof.To.Equal(at(30)) || len(c.Events) != 5 {
		t.Errorf("5 to the end: got %+v, %v, want 5 events up to 30", c, err)
	}
}
