package deliver

import (
	"errors"
	"slices"
	"time"
)

// outage is what is known of a receiver that is down: it said so, or the tries of
// several objects failed in a row. While it is down one message at a time is tried,
// each time of another object, and all else is parked.
type outage struct {
	// failed are the objects whose tries failed since one was taken.
	failed map[key]bool
	down   bool
	// probe is the key of the next probe, at next: each one has another.
	probe key
	next  time.Time
	// due: it is time for the probe, which the next message is. probing: it is on
	// its way, and of what.
	due, probing bool
	probed       key
	parked       []key
}

// downAfter is how many objects have to fail in a row.
const downAfter = 3

// outageKey is what the waits of a receiver are counted by. No probe has it.
const outageKey = probeBit

// mayTake reports whether an object may be tried; else it is parked.
func (s *schedule) mayTake(k key, o *object) bool {
	out := &s.outage
	switch {
	case !out.down:
		return true
	case out.due:
		out.due, out.probing, out.probed = false, true, k
		return true
	default:
		s.park(k, o)
		return false
	}
}

func (s *schedule) park(k key, o *object) {
	o.state = parked
	s.outage.parked = append(s.outage.parked, k)
	if s.outage.due { // nothing else would begin it
		s.probeAfter(0)
	}
}

// takeProbe returns what is tried next of what is parked.
func (s *schedule) takeProbe(probe key) (key, bool) {
	out := &s.outage
	for out.down && probe == out.probe && !out.probing {
		if len(out.parked) == 0 {
			out.due = true
			break
		}
		if i := s.nextProbe(); i >= 0 {
			k := out.parked[i]
			out.parked = slices.Delete(out.parked, i, i+1)
			out.probing, out.probed = true, k
			return k, true
		}
		s.awaitRelease(out.parked[0])
	}
	return 0, false
}

// nextProbe returns the place among what is parked of what is tried next: if there is
// one, an object that has not failed. It is negative if all are held.
func (s *schedule) nextProbe() int {
	parked := s.outage.parked
	i := slices.IndexFunc(parked, func(k key) bool { return s.objects[k].tries == 0 && !s.held[k] })
	if i < 0 {
		i = slices.IndexFunc(parked, func(k key) bool { return !s.held[k] })
	}
	return i
}

// countOutage counts a failure.
func (s *schedule) countOutage(k key, err error) {
	out := &s.outage
	if out.failed == nil {
		out.failed = map[key]bool{}
	}
	out.failed[k] = true
	said, isDown := errors.AsType[*DownError](err)
	switch {
	case out.down && !out.due && !(out.probing && out.probed == k): // it was under way before
		return
	case !out.down && !isDown && len(out.failed) < downAfter:
		return
	}
	out.down, out.probing = true, false
	d := s.backoff.When(outageKey)
	if isDown {
		d = max(d, said.RetryAfter)
	}
	s.probeAfter(d)
	s.noteChange()
	if s.ending && s.keeps {
		s.work.ShutDown() // what waits is for a later run
	}
}

// probeAfter has the receiver tried after d.
func (s *schedule) probeAfter(d time.Duration) {
	out := &s.outage
	out.probe = (out.probe + 1) | probeBit
	out.due, out.next = false, time.Now().Add(d)
	s.work.AddAfter(out.probe, d)
}

// endOutage: the receiver has answered.
func (s *schedule) endOutage() {
	out := &s.outage
	clear(out.failed)
	if !out.down {
		return
	}
	for _, k := range out.parked {
		o := s.objects[k]
		o.state = ready
		s.notFailing(o) // the receiver was
		s.work.Add(k)
	}
	*out = outage{failed: out.failed, probe: out.probe}
	s.backoff.Forget(outageKey)
	s.noteChange()
}

// takeExpired takes those objects out of what is parked whose first message came too
// long ago.
func (s *schedule) takeExpired() (taken []key) {
	left := s.outage.parked[:0]
	for _, k := range s.outage.parked {
		if o := s.objects[k]; s.isExpired(o) && !s.held[k] {
			o.state = busy
			taken = append(taken, k)
		} else {
			left = append(left, k)
		}
	}
	s.outage.parked = left
	return taken
}
