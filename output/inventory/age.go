package inventory

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
)

// AgeFormat tells how the cells of a column change as time passes, so that a view can update them without the server.
type AgeFormat uint8

const (
	AgeNone   AgeFormat = iota // not at all
	AgeWhole                   // the cell is an age, such as 5m
	AgeSuffix                  // the cell ends with an age, such as "3 (5m ago)"
)

// ageFormatOf returns the AgeFormat of a column, and the paths in the object at which the age may start. Column
// definitions do not contain this: the rules are those of k8s.io/kubernetes/pkg/printers.
func ageFormatOf(kind schema.GroupKind, c *Column) (clock AgeFormat, begins []string) {
	named := func(name string) bool { return strings.EqualFold(c.Name, name) }
	switch {
	case named("Restarts"):
		return AgeSuffix, nil
	case c.Type == "date", named("Age"), named("Last Seen"), named("First Seen"), named("Last Schedule"):
		clock = AgeWhole
	}
	switch kind.String() + " " + c.Name {
	case "Job.batch Duration": // constant after completion
		begins = []string{"status.startTime"}
	case "CronJob.batch Last Schedule":
		begins = []string{"status.lastScheduleTime"}
	case "Event Last Seen", "Event.events.k8s.io Last Seen":
		begins = []string{"series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"}
	case "Event First Seen", "Event.events.k8s.io First Seen":
		begins = []string{"firstTimestamp", "deprecatedFirstTimestamp", "eventTime"}
	}
	return clock, begins
}

type columnTime struct {
	start time.Time // zero if unknown
	ended bool
}

// findTimes sets the start times of the columns that count from a time in the object.
func (r *tableRow) findTimes(content string) {
	for n := range r.columns.all {
		c := &r.columns.all[n]
		if !c.HasStartTime {
			continue
		}
		if r.times == nil {
			r.times = make([]columnTime, len(r.columns.all))
		}
		r.times[n].ended = c.AgeFormat == AgeNone && gjson.Get(content, "status.completionTime").Exists()
		for _, path := range c.startPaths {
			if at, err := time.Parse(time.RFC3339, gjson.Get(content, path).String()); err == nil {
				r.times[n].start = at
				break
			}
		}
	}
}

// CellStart returns the time from which the cell of a column counts, or zero if it is unknown. counts is false if the cell is not a
// running duration.
func (r *tableRow) CellStart(column int) (at time.Time, counts bool) {
	if r.times == nil || !r.columns.all[column].HasStartTime || r.times[column].ended {
		return time.Time{}, false
	}
	return r.times[column].start, true
}

// sameCells reports whether the cells equal those of another row, except for ages.
func (r *tableRow) sameCells(before *tableRow) bool {
	if r.columns != before.columns || !slices.Equal(r.times, before.times) {
		return false
	}
	if r.cells == before.cells {
		return true
	}
	now, was := r.CellValues(), before.CellValues()
	if len(now) != len(was) {
		return false
	}
	for n := range now {
		clock := AgeNone
		if n < len(r.columns.all) {
			if _, counts := r.CellStart(n); counts {
				continue
			}
			clock = r.columns.all[n].AgeFormat
		}
		if now[n].Raw != was[n].Raw && (clock == AgeNone || CellChanged(was[n].String(), now[n].String())) {
			return false
		}
	}
	return true
}

// CellAt returns the text that a cell of this state has at another time. It returns a cell without an age unchanged.
func (s *State) CellAt(cell string, now time.Time) string {
	before, after := "", ""
	if text, is := CutAgeSuffix(cell); is {
		before, after = text+" (", " ago)"
	}
	elapsed, unit, ok := parseAgo(strings.TrimSuffix(strings.TrimPrefix(cell, before), after))
	if !ok {
		return cell
	}
	then := s.Time.Add(-elapsed)
	// An age has only the precision of its unit. If the object's creation matches it, the age is that of the object, and
	// the creation time is exact to the second.
	if early := then.Sub(s.Created); before == "" && !s.Created.IsZero() && early > -2*time.Second && early < unit+2*time.Second {
		then = s.Created
	}
	return before + output.FormatAge(now, then) + after
}

// CellChanged reports whether a cell changed in more than its age.
func CellChanged(before, now string) bool {
	if before == now {
		return false
	}
	before, wasAgo := CutAgeSuffix(before)
	now, isAgo := CutAgeSuffix(now)
	if wasAgo && isAgo {
		return before != now
	}
	return !IsDuration(before) || !IsDuration(now)
}

// CutAgeSuffix removes the age from a cell such as "3 (5m ago)".
func CutAgeSuffix(cell string) (string, bool) {
	if i := strings.LastIndex(cell, " ("); i > 0 && strings.HasSuffix(cell, " ago)") {
		return cell[:i], true
	}
	return cell, false
}

// IsDuration reports whether a cell is a duration in kubectl's format, such as 3d4h.
func IsDuration(cell string) bool {
	_, _, is := parseAgo(cell)
	return is
}

const day = 24 * time.Hour

// units of durations. A day has 24 hours and a year 365 days, as in kubectl.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day, 'y': 365 * day}

// parseAgo parses a duration in kubectl's format and returns the value of its last unit.
func parseAgo(text string) (sum, unit time.Duration, ok bool) {
	for text != "" {
		i := strings.IndexAny(text, "smhdy")
		if i < 0 {
			return 0, 0, false
		}
		n, err := strconv.ParseUint(text[:i], 10, 16)
		if unit = units[text[i]]; err != nil || n > 200 && unit > day { // out of range
			return 0, 0, false
		}
		sum += time.Duration(n) * unit
		text = text[i+1:]
	}
	return sum, unit, unit > 0
}
