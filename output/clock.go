package output

import "time"

// timestampLayout always has the same width, unlike one that writes the offset 0 as Z.
const timestampLayout = "2006-01-02T15:04:05.000-07:00"

// FormatClock returns the local time of day or, if full is set, the result of FormatTimestamp.
func FormatClock(t time.Time, full bool) string {
	if full {
		return FormatTimestamp(t)
	}
	return t.Local().Format(time.TimeOnly)
}

// FormatTimestamp returns the local time with date, milliseconds and the offset of the zone.
func FormatTimestamp(t time.Time) string { return t.Local().Format(timestampLayout) }

// FormatTime returns the local time of day, with the date if that is not the date of now. If full is set, it returns the result of
// FormatTimestamp.
func FormatTime(t, now time.Time, full bool) string {
	if full {
		return FormatTimestamp(t)
	}
	return t.Local().Format(dayLayout(t, now))
}

// FormatTimeMillis is FormatTime with milliseconds, unless t is a full second.
func FormatTimeMillis(t, now time.Time, full bool) string {
	if full || t.Nanosecond() < int(time.Millisecond) {
		return FormatTime(t, now, full)
	}
	return t.Local().Format(dayLayout(t, now) + ".000")
}

func dayLayout(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return time.TimeOnly
	}
	return time.DateTime
}
