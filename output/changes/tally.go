package changes

import (
	"fmt"
	"strings"

	"dwatch/watcher/event"
)

// tally counts what is not as it should be, among the objects that a target has at the start.
type tally struct {
	failed, unready int
	// one is the first of those that failed, or else of those that are not ready, and why.
	one string
}

// String is what is behind the number of all; empty if nothing is wrong.
func (t *tally) String() (text string) {
	if t == nil {
		return ""
	}
	if t.failed > 0 {
		text += fmt.Sprintf(", %d failed", t.failed)
	}
	if t.unready > 0 {
		text += fmt.Sprintf(", %d not ready", t.unready)
	}
	return text + ": " + t.one
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
