package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// language is how a contender says what happens.
type language struct {
	// isEvent tells whether a line is the event of an object.
	isEvent func(line []byte) bool
	// initial is the number of lines for so many pods that exist at the start.
	initial func(pods int) int
	// writtenAt finds when the update that a line is about was written; nil if no line
	// says it.
	writtenAt func(line []byte) (time.Time, error)
}

// jsonLines are watch events, a line each.
var jsonLines = language{
	isEvent: func(line []byte) bool {
		for _, t := range []string{"ADDED", "MODIFIED", "DELETED"} { // the line of a bookmark begins otherwise
			if bytes.HasPrefix(line, []byte(`{"type":"`+t+`",`)) {
				return true
			}
		}
		return false
	},
	initial: func(pods int) int { return pods },
	// The server's record of who manages which field has the annotation's name too,
	// after "f:".
	writtenAt: func(line []byte) (time.Time, error) {
		_, rest, _ := bytes.Cut(line, []byte(`"dwatch.test/written-at":"`))
		digits, _, found := bytes.Cut(rest, []byte(`"`))
		if !found {
			return time.Time{}, fmt.Errorf("an event that does not say when it was written: %.200s", line)
		}
		return parseTime(digits)
	},
}

// changeLines are those of dwatch -o changes. What exists at the start is one line, and
// of an update that which has its time counts.
var changeLines = language{
	isEvent: func(line []byte) bool {
		return nanoseconds.Match(line) || bytes.Contains(line, []byte(" = "))
	},
	initial: func(int) int { return 1 },
	writtenAt: func(line []byte) (time.Time, error) {
		found := nanoseconds.FindAll(line, -1)
		if len(found) == 0 {
			return time.Time{}, fmt.Errorf("an event that does not say when it was written: %.200s", line)
		}
		return parseTime(found[len(found)-1]) // before it is the old one
	},
}

// pageLines are what a viewer of the page gets to know: see pageMessage.
var pageLines = language{
	isEvent:   func([]byte) bool { return true },
	initial:   func(pods int) int { return pods },
	writtenAt: changeLines.writtenAt,
}

// tableLines are the rows of a table, after its header.
var tableLines = language{
	isEvent: func(line []byte) bool {
		return !bytes.HasPrefix(line, []byte("NAME")) && !bytes.HasPrefix(line, []byte("EVENT"))
	},
	initial: func(pods int) int { return pods },
}

// writtenLines are those of a template that ends with the time of an update.
var writtenLines = language{
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

// nanoseconds are those since 1970 of any time now.
var nanoseconds = regexp.MustCompile(`\b\d{19}\b`)

func parseTime(digits []byte) (time.Time, error) {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return time.Unix(0, n), err
}
