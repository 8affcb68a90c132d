package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestCellAt checks that ages in cells advance with time.
func TestCellAt(t *testing.T) {
	for _, test := range []struct {
		cell    string
		created time.Duration // before the state; zero if unknown
		after   time.Duration
		want    string
	}{
		{"5m", 5*time.Minute + 59*time.Second, time.Second, "6m"},
		{"5m", 0, 30 * time.Second, "5m30s"},
		{"5m", 3 * time.Hour, time.Minute, "6m"},    // not the age of the object
		{"5s", -5 * time.Minute, time.Second, "6s"}, // the server's clock is ahead
		{"5s", 5 * time.Minute, time.Second, "6s"},  // and behind
		{"3 (5s ago)", time.Hour, time.Minute, "3 (65s ago)"},
		{"3d4h", 3*24*time.Hour + 4*time.Hour, 0, "3d4h"},
		{"2y3d", 0, 48 * time.Hour, "2y5d"},
		{"0", time.Minute, time.Minute, "0"},
		{"old", time.Minute, time.Minute, "old"},
		{"", time.Minute, time.Minute, ""},
		{"<invalid>", time.Minute, time.Minute, "<invalid>"},
		{"99999999999999999999s", time.Minute, time.Minute, "99999999999999999999s"},
		{"9000y", time.Minute, time.Minute, "9000y"},
		{"x (ago)", time.Minute, time.Minute, "x (ago)"},
	} {
		s := State{Time: start}
		if test.created != 0 {
			s.Created = start.Add(-test.created)
		}
		if got := s.CellAt(test.cell, start.Add(test.after)); got != test.want {
			t.Errorf("%q of %v is %q after %v, want %q", test.cell, test.created, got, test.after, test.want)
		}
	}
}

// TestColumns checks that equal definitions give the same columns, that labels get columns, and that objects without a
// server table get columns, too.
func TestColumns(t *testing.T) {
	s := newSeen(t, Options{Labels: []string{"x/app", "none"}, ShowLabels: true})
	row := func(columns, cells string) event.Object {
		return pod("a", "u", "1", "Running").WithRow(`{"columnDefinitions":[` + columns + `],"cells":[` + cells + `]}`)
	}
	escaped := `"` + strings.Repeat("\\u0041", 200) + `"` // longer than the text that it encodes
	const two = `{"name":"Name","type":"string","format":"name"},{"name":"Last Seen","type":"string","priority":1}`
	long := strings.Repeat("語", 2000)
	all := s.deliver(
		of(event.Added, row(two, `"a","5m"`), 0), of(event.Modified, row(two, `"a","6m",7`), 1),
		of(event.Modified, row(`{"name":"Node"}`, `"`+long+`"`), 2), of(event.Modified, row(`{"name":"Node"}`, escaped), 3), of(event.Modified, pod("a", "u", "1", "Running"), 4))
	first, second := all[0].State.Columns(), all[1].State.Columns()
	if &first[0] != &second[0] || !first[0].IsName() || first[1].AgeFormat != AgeWhole || first[1].Priority != 1 {
		t.Errorf("%+v", first)
	}
	var got []string
	for _, c := range all {
		cells := c.State.Cells()
		for n := range c.State.Columns() {
			if len(cells[n]) > maxCell+3 {
				t.Errorf("a cell has %d bytes", len(cells[n]))
			}
			cells[n] = c.State.Columns()[n].Header() + "=" + cells[n][:min(len(cells[n]), 6)]
		}
		got = append(got, strings.Join(cells, " "))
	}
	want := "[NAME=a LAST SEEN=5m APP= NONE= LABELS=app=a NAME=a LAST SEEN=6m APP= NONE= LABELS=app=a" +
		" NODE=語語 APP= NONE= LABELS=app=a NODE=AAAAAA APP= NONE= LABELS=app=a NAME=a AGE=5m4s APP= NONE= LABELS=app=a]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestCellChanged checks that the passing of time is not a change.
func TestCellChanged(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        bool
	}{
		{"1/1", "1/1", false}, {"0/1", "1/1", true}, {"5m", "6m", false}, {"3d4h", "3d5h", false},
		{"3 (5m ago)", "3 (6m ago)", false}, {"3 (5m ago)", "4 (1s ago)", true}, {"0", "1 (1s ago)", true},
		{"5", "6", true}, {"", "1", true}, {"<none>", "10m", true},
	} {
		if got := CellChanged(c.before, c.now); got != c.want {
			t.Errorf("%q to %q: got %v, want %v", c.before, c.now, got, c.want)
		}
	}
}
