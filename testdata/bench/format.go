package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// lineFormat describes the output of a contender.
type lineFormat struct {
	// isEvent reports whether a line is an event of an object.
	isEvent func(line []byte) bool
	// initial returns the number of lines for the pods that exist at the start.
	initial func(pods int) int
	// writtenAt returns when the update of a line was written. It is nil if lines do not contain this time.
	writtenAt func(line []byte) (time.Time, error)
}

// jsonLines is the format of watch events as JSON lines.
var jsonLines = lineFormat{
	isEvent: func(line []byte) bool {
		for _, t := range []string{"ADDED", "MODIFIED", "DELETED"} { // not bookmarks
			if bytes.HasPrefix(line, []byte(`{"type":"`+t+`",`)) {
				return true
			}
		}
		return false
	},
	initial: func(pods int) int { return pods },
	// Managed fields contain the name of the annotation too, after "f:".
	writtenAt: func(line []byte) (time.Time, error) {
		_, rest, _ := bytes.Cut(line, []byte(`"dwatch.test/written-at":"`))
		digits, _, found := bytes.Cut(rest, []byte(`"`))
		if !found {
			return time.Time{}, fmt.Errorf("an event that does not say when it was written: %.200s", line)
		}
		return parseTime(digits)
	},
}

// changeLines is the format of dwatch -o changes. There is one line for all initial objects. An update has several lines, and
// only the line with the time counts.
var changeLines = lineFormat{
	isEvent: func(line []byte) bool {
		return nanoseconds.Match(line) || bytes.Contains(line, []byte(" = "))
	},
	initial: func(int) int { return 1 },
	writtenAt: func(line []byte) (time.Time, error) {
		found := nanoseconds.FindAll(line, -1)
		if len(found) == 0 {
			return time.Time{}, fmt.Errorf("an event that does not say when it was written: %.200s", line)
		}
		return parseTime(found[len(found)-1]) // the line also contains the old time, before the new one
	},
}

// pageLines is the format in which pageMessage writes the messages to a viewer of the page.
var pageLines = lineFormat{
	isEvent:   func([]byte) bool { return true },
	initial:   func(pods int) int { return pods },
	writtenAt: changeLines.writtenAt,
}

// tableLines is the format of tables. The header does not count.
var tableLines = lineFormat{
	isEvent: func(line []byte) bool {
		return !bytes.HasPrefix(line, []byte("NAME")) && !bytes.HasPrefix(line, []byte("EVENT"))
	},
	initial: func(pods int) int { return pods },
}

// writtenLines is the format of writtenTemplate: each line ends with the time of the update.
var writtenLines = lineFormat{
	isEvent: func([]byte) bool { return true },
	initial: func(pods int) int { return pods },
	writtenAt: func(line []byte) (time.Time, error) {
		found := nanoseconds.Find(line)
		if found == nil {
			return time.Time{}, fmt.Errorf("an event that does not say when it was written: %.200s", line)
		}
		return parseTime(found)
	},
}

// nanoseconds matches current times in nanoseconds since 1970.
var nanoseconds = regexp.MustCompile(`\b\d{19}\b`)

func parseTime(digits []byte) (time.Time, error) {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return time.Unix(0, n), err
}
