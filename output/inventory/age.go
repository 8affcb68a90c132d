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

// Clock says how the cells of a column go on with time: what the server says there is old at once.
type AgeFormat uint8

const (
	AgeNone   AgeFormat = iota // they stay as they are
	AgeWhole                   // they say how long ago something was, such as 5m
	AgeSuffix                  // they say that beside something else, such as "3 (5m ago)"
)

// clockOf returns the clock of a column of a kind, and where in an object the time is from which it
// counts. Definitions do not tell: these are those of k8s.io/kubernetes/pkg/printers.
func clockOf(kind schema.GroupKind, c *Column) (clock AgeFormat, begins []string) {
	named := func(name string) bool { return strings.EqualFold(c.Name, name) }
	switch {
	case named("Restarts"):
		return AgeSuffix, nil
	case c.Type == "date", named("Age"), named("Last Seen"), named("First Seen"), named("Last Schedule"):
		clock = AgeWhole
	}
	switch kind.String() + " " + c.Name {
	case "Job.batch Duration": // that of one that has completed stands
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
	at    time.Time // zero: it is not known
	ended bool
}

// findTimes notes from when the cells count that do, as the content of the object says.
func (s *State) findTimes(content string) {
	for n := range s.columns.all {
		c := &s.columns.all[n]
		if !c.HasStartTime {
			continue
		}
		if s.times == nil {
			s.times = make([]columnTime, len(s.columns.all))
		}
		s.times[n].ended = c.AgeFormat == AgeNone && gjson.Get(content, "status.completionTime").Exists()
		for _, path := range c.begins {
			if at, err := time.Parse(time.RFC3339, gjson.Get(content, path).String()); err == nil {
				s.times[n].at = at
				break
			}
		}
	}
}

// Since returns from when the cell of a column counts, zero if unknown; false if it does not count.
func (s *State) CellStart(column int) (at time.Time, counts bool) {
	if s.times == nil || !s.columns.all[column].HasStartTime || s.times[column].ended {
		return time.Time{}, false
	}
	return s.times[column].at, true
}

// sameCells reports whether the cells are those of another state, but for what goes on with time.
func (s *State) sameCells(before *State) bool {
	if s.columns != before.columns || !slices.Equal(s.times, before.times) {
		return false
	}
	if s.cells == before.cells {
		return true
	}
	now, was := s.CellValues(), before.CellValues()
	if len(now) != len(was) {
		return false
	}
	for n := range now {
		clock := AgeNone
		if n < len(s.columns.all) {
			if _, counts := s.CellStart(n); counts {
				continue
			}
			clock = s.columns.all[n].AgeFormat
		}
		if now[n].Raw != was[n].Raw && (clock == AgeNone || CellChanged(was[n].String(), now[n].String())) {
			return false
		}
	}
	return true
}

// At is a cell of a column with a clock as it is at another time, if it says something of time.
func (s *State) CellAt(cell string, now time.Time) string {
	before, after := "", ""
	if text, is := CutAgeSuffix(cell); is {
		before, after = text+" (", " ago)"
	}
	said, unit, ok := parseAgo(strings.TrimSuffix(strings.TrimPrefix(cell, before), after))
	if !ok {
		return cell
	}
	then := s.Time.Add(-said)
	// Of the creation the second is known, if the server meant that, and its clock is the one here.
	if early := then.Sub(s.Created); before == "" && !s.Created.IsZero() && early > -2*time.Second && early < unit+2*time.Second {
		then = s.Created
	}
	return before + output.FormatAge(now, then) + after
}

// CellChanged reports whether a cell has changed by more than the time that passes.
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

// CutAgo cuts from a cell such as "3 (5m ago)" when that was.
func CutAgeSuffix(cell string) (string, bool) {
	if i := strings.LastIndex(cell, " ("); i > 0 && strings.HasSuffix(cell, " ago)") {
		return cell[:i], true
	}
	return cell, false
}

// IsDuration reports whether a cell is one as kubectl writes them, such as 3d4h.
func IsDuration(cell string) bool {
	_, _, is := parseAgo(cell)
	return is
}

const day = 24 * time.Hour

// units of durations. There are no days of another length than 24 hours, and no leap years.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day, 'y': 365 * day}

// parseAgo reads a duration as kubectl writes them, and says how much its last unit is.
func parseAgo(text string) (sum, unit time.Duration, ok bool) {
	for text != "" {
		i := strings.IndexAny(text, "smhdy")
		if i < 0 {
			return 0, 0, false
		}
		n, err := strconv.ParseUint(text[:i], 10, 16)
		if unit = units[text[i]]; err != nil || n > 200 && unit > day { // more than fits
			return 0, 0, false
		}
		sum += time.Duration(n) * unit
		text = text[i+1:]
	}
	return sum, unit, unit > 0
}
