package changes

import (
	"fmt"
	"strings"

	"dwatch/watcher/event"
)

// tally knows what is not as it should be, among the objects that a target has at the start, until
// all of them have been named.
type tally struct {
	seen  int // of all the objects
	found int // so far, of those that are wrong
	wrong map[objectKey]fault
}

// fault is an object that is not as it should be.
type fault struct {
	failed bool // or else it is not ready
	order  int
	text   string // the object, and why
}

// words are what is behind the number of all; empty if nothing is wrong, or not all were seen.
func (t *tally) words(count int) (text string) {
	if t == nil || t.seen != count || len(t.wrong) == 0 {
		return ""
	}
	var failed int
	var one fault // the first of those that failed, or else of those that are not ready
	for _, f := range t.wrong {
		if f.failed {
			failed++
		}
		if one.text == "" || f.failed && !one.failed || f.failed == one.failed && f.order < one.order {
			one = f
		}
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if unready := len(t.wrong) - failed; unready > 0 {
		text += fmt.Sprintf(", %d not ready", unready)
	}
	return text + ": " + one.text
}

// mayBeWrong reports whether an object can be anything but Current, by its text: to decode each
// that exists would take longer than all else. A Pod that is not ready says so, or has no conditions yet.
func mayBeWrong(o *event.Object) bool {
	text := o.Raw()
	if o.Kind != "Pod" || o.APIVersion != "v1" {
		return strings.Contains(text, `"status":{`)
	}
	for _, sign := range []string{`"status":"False"`, `"Pending"`, `"Failed"`, `"status":"Unknown"`, `"Stalled"`} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return !strings.Contains(text, `"Ready"`)
}
