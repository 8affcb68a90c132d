package flags_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"dwatch/cli/flags"
)

func TestParseTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 31, 9, 30, 15, 500_000_000, berlin)
	autumn := time.Date(2026, 10, 25, 9, 0, 0, 0, berlin) // clocks were turned back at 03:00
	spring := time.Date(2026, 3, 29, 9, 0, 0, 0, berlin)  // they were put forward at 02:00
	for _, c := range []struct {
		now        time.Time
		text, want string // want in UTC, or the beginning of an error
	}{
		{now, "now", "2026-01-31T08:30:15.5Z"},
		{now, "2h", "2026-01-31T06:30:15.5Z"},
		{now, "1h30m", "2026-01-31T07:00:15.5Z"},
		{now, "0s", "2026-01-31T08:30:15.5Z"},
		{now, "7d", "2026-01-24T08:30:15.5Z"},
		{now, "1d12h", "2026-01-29T20:30:15.5Z"},
		{now, "02:00", "2026-01-31T01:00:00Z"},
		{now, "02:00:59", "2026-01-31T01:00:59Z"},
		{now, "09:30", "2026-01-31T08:30:00Z"},
		{now, "2026-01-30T23:50", "2026-01-30T22:50:00Z"},
		{now, "2026-01-30 23:50:07", "2026-01-30T22:50:07Z"},
		{now, "2025-07-01T12:00", "2025-07-01T10:00:00Z"}, // in summer
		{now, "2026-01-31T02:00:00Z", "2026-01-31T02:00:00Z"},
		{now, "2026-01-31T02:00:00.25+05:30", "2026-01-30T20:30:00.25Z"},
		{now, "2026-01-31T02:00Z", "2026-01-31T02:00:00Z"},
		{now, "23:50", "that is in the future today: it is 09:30:15 (for yesterday, use 2026-01-30T23:50)"},
		{now, "2026-02-01T00:00", "that is in the future: it is 2026-01-31T09:30:15+01:00"},
		{now, "2026-01-31T09:00:00Z", "that is in the future"},
		{now, "0000-01-01T00:00Z", "that is before 1970"},
		{now, "0001-01-01T00:00:00Z", "that is before 1970"},
		{now, "99999d", "that is before 1970"},
		{now, "2:00", "a time of day has two digits for the hour, such as 02:00"},
		{now, "2026-01-31", "a date needs a time of day, such as 2026-01-31T00:00"},
		{now, "-2h", "it takes how long ago, without a sign"},
		{now, "2", "it takes"},
		{now, "0", "it takes"},
		{now, "1d-2h", "it takes"},
		{now, "d", "it takes"},
		{now, "25:00", "it takes"},
		{now, "2026-02-31T00:00", "it takes"},
		{now, "01/31/2026 02:00", "it takes"},
		{now, "2am", "it takes"},
		{now, "yesterday", "it takes"},
		{now, "1700000000", "it takes"},
		{autumn, "02:30", "that local time occurred twice: use 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"},
		{autumn, "2026-10-25T02:30:00+02:00", "2026-10-25T00:30:00Z"},
		{autumn, "03:00", "2026-10-25T02:00:00Z"},
		{autumn, "01:59", "2026-10-24T23:59:00Z"},
		{autumn, "1d", "2026-10-24T08:00:00Z"},
		{spring, "02:30", "that local time did not exist on 2026-03-29"},
		{spring, "03:00", "2026-03-29T01:00:00Z"},
	} {
		at, err := flags.ParseTime(c.text, c.now)
		got := at.UTC().Format(time.RFC3339Nano)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s at %s: %s, want %s", c.text, c.now, got, c.want)
		}
	}
}

// TestTimeRange checks that --since and --before are parsed after all flags, relative to the same time, and that the
// range is not empty.
func TestTimeRange(t *testing.T) {
	for args, want := range map[string]string{
		"":                        "",
		"--since 2h":              "",
		"--since 2h --before 1h":  "",
		"--since 2h --before now": "",
		"--since 1h --before 2h":  "--since ",
		"--since 1h --before 1h":  "--since ",
		"--since 2":               `invalid --since "2": it takes how long ago`,
		"--since 2h --since 3h":   "--since is given twice: 2h and 3h",
		"--before 2020-01-01":     `invalid --before "2020-01-01": a date needs`,
		"--since= --before now":   `invalid argument "" for "--since" flag: it must not be empty`,
	} {
		var span flags.TimeRange
		group := flags.NewGroup("", flags.SinceBefore("from", "to"))
		err := group.Flags.Parse(strings.Fields(args))
		if err != nil {
			err = flags.ExplainParseError(err, "")
		} else {
			err = span.Parse(group.Flags)
		}
		if got := message(err); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
