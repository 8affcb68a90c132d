package inventory

import (
	"cmp"
	"fmt"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// problemTracker tracks which objects are unhealthy. It is guarded by Inventory.mu.
type problemTracker struct {
	unhealthy
	// unexplained are the objects that are in progress without giving a reason.
	unexplained map[*Entry]*episode
	revision    uint64 // number of changes of the set of unhealthy objects or their reasons
}

func newProblemTracker() problemTracker {
	return problemTracker{unhealthy: unhealthy{}, unexplained: map[*Entry]*episode{}}
}

// update takes the new current state of an object.
func (p *problemTracker) update(o *Entry, s *State) {
	if p.unhealthy.update(o, s) {
		p.revision++
	}
	switch sp := p.unexplained[o]; {
	case s.EventType != "" || s.Status != kstatus.InProgressStatus || s.HasReason:
		delete(p.unexplained, o)
	case sp == nil:
		sp = &episode{began: s.Time, lastWrong: s, entry: o}
		if s.Initial {
			sp.began, sp.stableSince = time.Time{}, s.notAfterSeen(s.stableSince)
		}
		p.unexplained[o] = sp
	default:
		sp.lastWrong = s
	}
}

// advance applies what time has changed since the last event of each object: crash loops that have ended, and conditions
// that have been False for too long.
func (p *problemTracker) advance(now time.Time) {
	for _, sp := range p.unhealthy {
		sp.clear(now)
		if after := sp.lastWrong.asOf(now); sp.ended.IsZero() && after.Status == kstatus.FailedStatus && after != sp.lastWrong {
			sp.lastWrong = after
			p.revision++
		}
	}
	for o, sp := range p.unexplained {
		if after := sp.lastWrong.asOf(now); after.Status == kstatus.FailedStatus {
			p.update(o, after)
		}
	}
}

// remove removes an object from the tracker.
func (p *problemTracker) remove(o *Entry) {
	delete(p.unexplained, o)
	if p.unhealthy[o] != nil {
		delete(p.unhealthy, o)
		p.revision++
	}
}

const (
	// maxWarningAge is the maximum age of a Warning that explains why an object makes no progress. Controllers that retry
	// repeat their Warnings.
	maxWarningAge = time.Hour
	// shownWarningAge is the minimum age at which the message states how old the Warning is.
	shownWarningAge = time.Minute
	// warningLead is how long before an object was seen to be in progress a Warning about it may be dated. Clocks differ,
	// and the events of two watches are not ordered.
	warningLead = 2 * time.Second
)

// explain adds objects that have been in progress for too long without a reason, if a Warning about them gives one. They
// count as unhealthy until the caller calls forget.
func (p *problemTracker) explain(now time.Time, warning func(*State) (why string, last time.Time)) (forget func()) {
	before := map[*Entry]*episode{}
	for o, sp := range p.unexplained {
		from := cmp.Or(sp.began, sp.stableSince, o.FirstSeen)
		if now.Sub(from).Abs() < startTolerance {
			continue
		}
		why, last := warning(sp.lastWrong)
		age := now.Sub(last)
		if why == "" || age > maxWarningAge || sp.beganAfter(last) {
			continue
		}
		if age >= shownWarningAge {
			why += fmt.Sprintf(" (%d min ago)", int(age.Minutes()))
		}
		explained := *sp.lastWrong
		explained.Message, explained.HasReason, explained.SelfReported = why, true, true
		before[o] = p.unhealthy[o]
		p.unhealthy[o] = &episode{began: sp.began, stableSince: sp.stableSince, lastWrong: &explained, entry: o}
	}
	return func() {
		for o, sp := range before {
			if sp == nil {
				delete(p.unhealthy, o)
			} else {
				p.unhealthy[o] = sp
			}
		}
	}
}

// beganAfter reports whether the episode began after the Warning, so that the Warning cannot explain it.
func (sp *episode) beganAfter(warning time.Time) bool {
	begun := cmp.Or(sp.began, sp.stableSince)
	return !begun.IsZero() && warning.Before(begun.Add(-warningLead))
}
