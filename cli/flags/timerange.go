package flags

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// TimeRange begins at Since and ends before Before. A zero time means no limit.
type TimeRange struct{ Since, Before time.Time }

// SinceBefore adds --since and --before with these help texts. TimeRange.Parse reads them.
func SinceBefore(since, before string) Adder {
	return func(f *pflag.FlagSet) {
		past(f, "since", since)
		past(f, "before", before)
	}
}

// At adds --at, which ParseTimeFlag reads.
func At(usage string) Adder {
	return func(f *pflag.FlagSet) { past(f, "at", usage) }
}

// Before adds --before without --since. ParseTimeFlag reads it.
func Before(usage string) Adder {
	return func(f *pflag.FlagSet) { past(f, "before", usage) }
}

// Parse sets s from the flags of f. All flags must have been parsed, as --utc sets the time zone. An empty range is
// an error.
func (s *TimeRange) Parse(f *pflag.FlagSet) error {
	now := time.Now() // the same for both
	if err := cmp.Or(readTime(f, "since", &s.Since, now), readTime(f, "before", &s.Before, now)); err != nil {
		return err
	}
	if !s.Since.IsZero() && !s.Before.IsZero() && !s.Since.Before(s.Before) {
		return fmt.Errorf("--since %s must be earlier than --before %s", s.Since.Format(time.RFC3339), s.Before.Format(time.RFC3339))
	}
	return nil
}

// ParseTimeFlag sets *to from the flag name of f, if it is given. All flags must have been parsed.
func ParseTimeFlag(f *pflag.FlagSet, name string, to *time.Time) error {
	return readTime(f, name, to, time.Now())
}

func readTime(f *pflag.FlagSet, name string, to *time.Time, now time.Time) (err error) {
	if !f.Changed(name) {
		return nil
	}
	text := f.Lookup(name).Value.String()
	if *to, err = ParseTime(text, now); err != nil {
		return invalid(name, text, err)
	}
	return nil
}

func past(f *pflag.FlagSet, name, usage string) {
	now := time.Now()
	f.String(name, "", usage)
	if start, _, cut := strings.Cut(usage, ": how long ago"); cut {
		start, _, _ = strings.Cut(start, ", as far as")
		describeBriefly(f, name, start+", e.g. 2h")
	}
	offers(f, name, "10m", "2h", "1d", now.Format("15:04"), now.Format("2006-01-02T15:04:05"))
	notEmpty(f, name)
}

// Layouts of a time of day today, of a local date and time, and of a date and time with a zone.
var (
	clocks = []string{"15:04", "15:04:05"}
	dated  = []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}
	zoned  = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00"}
)

// ParseTime parses a time before now: how long ago (2h, 1h30m, 7d), a time of today (02:00), a date and a time
// (2026-01-31T02:00), one with a zone (RFC 3339), or "now". Times without a zone are in the zone of now. Times in the
// future and local times that clock changes skip or repeat are errors, which suggest what to type instead. In
// particular, a time of day that is still to come today does not mean yesterday.
//
// Times before 1970 are errors, too: the zero time.Time stands for a missing time, and nothing was recorded before.
func ParseTime(text string, now time.Time) (time.Time, error) {
	t, err := parseTime(text, now)
	if err == nil && t.Before(time.Unix(0, 0)) {
		return time.Time{}, errors.New("that is before 1970")
	}
	return t, err
}

func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if ago, ok := parseAgo(text); ok {
		if ago < 0 {
			return time.Time{}, errors.New("it takes how long ago, without a sign")
		}
		return now.Add(-ago), nil
	}
	t, err := parseClock(text, now)
	if err == nil && t.After(now) {
		err = fmt.Errorf("that is in the future: it is %s", now.Format("2006-01-02T15:04:05Z07:00"))
	}
	return t, err
}

var days = regexp.MustCompile(`^(\d{1,5})d(.*)$`)

// parseAgo parses a Go duration that may begin with days of 24 hours, such as 1d12h.
func parseAgo(text string) (ago time.Duration, ok bool) {
	if found := days.FindStringSubmatch(text); found != nil {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return 0, false
		}
		if ago, text = time.Duration(n)*24*time.Hour, found[2]; text == "" {
			return ago, true
		}
	}
	rest, err := time.ParseDuration(text)
	if err != nil || text == "0" || ago > 0 && rest < 0 {
		return 0, false
	}
	return ago + rest, true
}

var (
	oneDigit = regexp.MustCompile(`^\d:\d\d(:\d\d)?$`)
	dateOnly = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
)

func parseClock(text string, now time.Time) (time.Time, error) {
	switch {
	case oneDigit.MatchString(text):
		return time.Time{}, fmt.Errorf("a time of day has two digits for the hour, such as 0%s", text)
	case dateOnly.MatchString(text):
		return time.Time{}, fmt.Errorf("a date needs a time of day, such as %sT00:00", text)
	}
	if t, ok := parseAs(clocks, text); ok {
		year, month, day := now.Date()
		today, err := local(t.AddDate(year, int(month)-1, day-1), now.Location())
		if err == nil && today.After(now) {
			yesterday := now.AddDate(0, 0, -1).Format(time.DateOnly)
			err = fmt.Errorf("that is in the future today: it is %s (for yesterday, use %sT%s)", now.Format("15:04:05"), yesterday, text)
		}
		return today, err
	}
	if t, ok := parseAs(dated, text); ok {
		return local(t, now.Location())
	}
	if t, ok := parseAs(zoned, text); ok {
		return t, nil
	}
	return time.Time{}, errors.New("it takes how long ago, such as 10m, 2h or 7d; a time of today, such as 02:00; or a date and a time, such as 2026-01-31T02:00 or 2026-01-31T02:00:00Z")
}

func parseAs(layouts []string, text string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// local returns the time at which clocks in the zone there show the clock time of t. It is an error if there are none
// or two.
func local(t time.Time, there *time.Location) (found time.Time, err error) {
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} { // the offsets on both sides of a clock change
		_, offset := t.Add(near).In(there).Zone()
		zone := time.FixedZone("", offset)
		at := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).In(there)
		switch {
		case at.Format(time.DateTime) != t.Format(time.DateTime):
		case found.IsZero():
			found = at
		case !at.Equal(found):
			return time.Time{}, fmt.Errorf("that local time occurred twice: use %s or %s", found.Format(time.RFC3339), at.Format(time.RFC3339))
		}
	}
	if found.IsZero() {
		return time.Time{}, fmt.Errorf("that local time did not exist on %s, as clocks were put forward", t.Format(time.DateOnly))
	}
	return found, nil
}
