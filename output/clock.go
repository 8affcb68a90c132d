package output

import "time"

// stamp is a time with its date and the offset of its zone, of one width, as with Z it is not.
const stamp = "2006-01-02T15:04:05.000-07:00"

// Clock is a time as people read it, in their zone: that of a day, or as Stamp.
func FormatClock(t time.Time, isWhole bool) string {
	if isWhole {
		return FormatTimestamp(t)
	}
	return t.Local().Format(time.TimeOnly)
}

// Stamp is a time as people read it, in their zone, with the date, milliseconds and the offset of the zone.
func FormatTimestamp(t time.Time) string { return t.Local().Format(stamp) }

// Day is a time as people read it in their zone at now: with its date, if that is another one.
func FormatTime(t, now time.Time, isWhole bool) string {
	if isWhole {
		return FormatTimestamp(t)
	}
	return t.Local().Format(dayLayout(t, now))
}

// Exact is as Day, to the millisecond where that is not a whole second.
func FormatTimeMillis(t, now time.Time, isWhole bool) string {
	if isWhole || t.Nanosecond() < int(time.Millisecond) {
		return FormatTime(t, now, isWhole)
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
