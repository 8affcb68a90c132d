package inventory

import (
	"testing"
	"time"
)

// TestClock: a cell that says how long ago something was goes on.
func TestClock(t *testing.T) {
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
		s := State{Time: made}
		if test.created != 0 {
			s.Created = made.Add(-test.created)
		}
		if got := s.At(test.cell, made.Add(test.after)); got != test.want {
			t.Errorf("%q of %v is %q after %v, want %q", test.cell, test.created, got, test.after, test.want)
		}
	}
}

// TestCellChanged: a time that goes by is no change.
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
			t.Errorf("%q to %q: %v", c.before, c.now, got)
		}
	}
}
