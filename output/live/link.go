package live

import (
	"fmt"
	"time"

	"dwatch/watcher/event"
)

// trouble is the worst phase of the watch of some targets, and the earliest time since when; what
// is shown of them is as of asOf, if the connection is lost. Zero: nothing is wrong.
type trouble struct {
	phase       event.Phase
	since, asOf time.Time
}

func troubleWith(links *event.Links, match func(*event.Link) bool) (t trouble) {
	for _, one := range links.All() {
		phase, heard := one.Phase(), one.Heard
		if phase < event.PhaseLost || t.phase != 0 && phase > t.phase || !match(one) { // the worst come first
			continue
		}
		if phase != t.phase {
			t = trouble{phase: phase}
		}
		if heard.IsZero() { // nothing was, and nothing is shown
			heard = one.Since
		}
		t.since, t.asOf = earlier(t.since, one.Since), earlier(t.asOf, heard)
	}
	return t
}

// earlier returns the earlier of two times; a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// connection is how all are, in a phase and in words, and since when they are lost or denied.
func connection(links *event.Links) (event.Phase, string, time.Time) {
	worst := troubleWith(links, func(*event.Link) bool { return true })
	all, waiting := len(links.All()), links.Count(event.PhaseConnecting)
	switch {
	case worst.phase == event.PhaseLost:
		return worst.phase, "connection lost", worst.since
	case worst.phase == event.PhaseDenied:
		return worst.phase, "denied", worst.since
	case all == 0:
		return event.PhaseConnecting, "waiting for a resource", time.Time{}
	case waiting == all:
		return event.PhaseConnecting, "connecting", time.Time{}
	case waiting > 0:
		return event.PhaseConnecting, fmt.Sprintf("connecting, %d of %d", all-waiting, all), time.Time{}
	}
	return event.PhaseLive, "connected", time.Time{}
}
