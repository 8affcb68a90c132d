package live

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// ago is how long ago something was.
func ago(now, then time.Time) string { return duration.HumanDuration(max(now.Sub(then), 0)) }

// longestAgo is how wide that is at most.
const longestAgo = len("9m59s")

// ticked is a cell that says how long ago something was, such as 5m or "3 (5m ago)", as
// it is now; any other stays as it is.
func (r *row) ticked(cell string, now time.Time) string {
	before, after := "", ""
	if text, is := cutAgo(cell); is {
		before, after = text+" (", " ago)"
	}
	said, unit, ok := parseAgo(strings.TrimSuffix(strings.TrimPrefix(cell, before), after))
	if !ok {
		return cell
	}
	then := r.made.Add(-said)
	// Of the creation the second is known, if that is what the server meant, and its
	// clock is the one here.
	if early := then.Sub(r.created); before == "" && !r.created.IsZero() && early > -2*time.Second && early < unit+2*time.Second {
		then = r.created
	}
	return before + ago(now, then) + after
}

// parseAgo reads a duration as kubectl writes them, such as 3d4h, and says how much its
// last unit is. There are no days of another length than 24 hours, and no leap years.
func parseAgo(text string) (sum, unit time.Duration, ok bool) {
	if !isDuration(text) {
		return 0, 0, false
	}
	for text != "" {
		i := strings.IndexAny(text, "smhdy")
		n, err := strconv.Atoi(text[:i])
		if err != nil || n > 10_000 {
			return 0, 0, false
		}
		const day = 24 * time.Hour
		unit = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day, 'y': 365 * day}[text[i]]
		if n > 200 && unit > day { // more than fits
			return 0, 0, false
		}
		sum += time.Duration(n) * unit
		text = text[i+1:]
	}
	return sum, unit, true
}
