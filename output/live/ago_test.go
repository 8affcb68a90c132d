package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

func TestTicked(t *testing.T) {
	made := start
	for _, test := range []struct {
		cell    string
		created time.Duration // before made; 0: not known
		after   time.Duration
		want    string
	}{
		{"5m", 5*time.Minute + 59*time.Second, time.Second, "6m"},
		{"5m", 0, 30 * time.Second, "5m30s"},
		{"5m", 3 * time.Hour, time.Minute, "6m"},    // it is about something else
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
		r := row{made: made}
		if test.created != 0 {
			r.created = made.Add(-test.created)
		}
		if got := r.ticked(test.cell, made.Add(test.after)); got != test.want {
			t.Errorf("%q of %v is %q after %v, want %q", test.cell, test.created, got, test.after, test.want)
		}
	}
}

// odd is a pod with a row of its own.
func odd(t *testing.T, name, definitions, cells string) event.Object {
	t.Helper()
	return pod(t, name, "Running", 1).WithRow(`{"columnDefinitions":[` + definitions + `],"cells":[` + cells + `]}`)
}

func definition(name, kind, format string) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,"format":%q,"priority":0}`, name, kind, format)
}

// TestTimes: each cell that says how long ago something was goes on, also where that is
// not the age of the object.
func TestTimes(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	columns := strings.Join([]string{
		definition("Name", "string", "name"), definition("Seen", "date", ""), definition("Restarts", "string", ""), definition("Last Schedule", "string", ""), definition("Text", "string", ""), definition("Age", "string", ""),
	}, ",")
	s.deliver(initial(odd(t, "web-a", columns, `"web-a","10s","3 (9s ago)","8s","9s","by hand"`)), synced())
	s.pass(time.Minute)
	s.shows(`^   web-a  70s +3 \(69s ago\) +68s +9s +by hand`)
	s.deliver(removed(pod(t, "web-a", "Running", 2)))
	s.pass(2 * time.Second)
	s.shows(`^ - web-a  70s `)
}

// TestNoName: where no column has the name it is seen as well which row is selected, and
// whose rows these are.
func TestNoName(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) { o.Targets = []event.Target{deploys, podsOf} })
	columns := definition("Last Seen", "string", "") + "," + definition("Message", "string", "")
	s.deliver(initial(odd(t, "web-a", columns, `"5s","one"`)), initial(odd(t, "web-b", columns, `"7s","two"`)), synced())
	s.shows(`^   PODS 2: LAST SEEN  MESSAGE$`)
	s.press("down")
	if content := s.View().Content; !strings.Contains(content, "\x1b[7m7s ") {
		t.Errorf("the second row is not shown as selected: %q", content)
	}
}

// TestLongCell: of a cell no more is kept than could be seen.
func TestLongCell(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	columns := definition("Name", "string", "name") + "," + definition("Text", "string", "")
	s.deliver(initial(odd(t, "web-a", columns, `"web-a","`+strings.Repeat("語", 100_000)+`"`)), synced())
	s.shows(`^   web-a  語語語`)
	if got := s.table.sections[0].widths[1]; got > maxCell {
		t.Errorf("a column is %d wide", got)
	}
	testobject.Parse(t, s.table.sections[0].order[0].object.Raw()) // the object is whole
}
