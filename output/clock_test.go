package output

import (
	"testing"
	"time"
)

// TestDay: a time has its date if that is another one, its milliseconds where there are some, and with
// --timestamps its zone.
func TestDay(t *testing.T) {
	now := time.Date(2026, 3, 2, 1, 0, 0, 0, time.Local)
	for _, c := range []struct {
		at                time.Time
		day, exact, whole string
	}{
		{now.Add(-time.Minute), "00:59:00", "00:59:00", "2026-03-02T00:59:00.000" + now.Format("-07:00")},
		{now.Add(-2 * time.Hour), "2026-03-01 23:00:00", "2026-03-01 23:00:00", "2026-03-01T23:00:00.000" + now.Format("-07:00")},
		{now.Add(-500 * time.Millisecond), "00:59:59", "00:59:59.500", "2026-03-02T00:59:59.500" + now.Format("-07:00")},
	} {
		if day, exact := FormatTime(c.at, now, false), FormatTimeMillis(c.at, now, false); day != c.day || exact != c.exact {
			t.Errorf("%v: %q, %q", c.at, day, exact)
		}
		if day, exact := FormatTime(c.at, now, true), FormatTimeMillis(c.at, now, true); day != c.whole || exact != c.whole {
			t.Errorf("%v: %q, %q", c.at, day, exact)
		}
	}
}
