package deliver

import (
	"errors"
	"slices"
	"time"
)

// outage is what is known of a receiver that is down (Stats.Down): it said so, or the tries of
// several objects failed in a row. While it is down one message at a time is tried, each time of
// another object, and all else is parked.
type outage struct {
	failed  map[key]bool // objects whose tries failed since one was taken
	next    time.Time    // when the receiver is tried again
	probing *object      // what of, while that is on its way
	delays  int8         // how often the wait has become longer
	parked  []key
}

const (
	// downAfter is how many objects have to fail in a row.
	downAfter = 3
	// probe in the workqueue is a try whether the receiver is back. No object has it.
	probe key = 0
)

// resolveLocked returns the object that is meant by what comes out of the workqueue. Of a probe
// that is what is parked, if there is one that has not failed; or nothing yet.
func (s *schedule) resolveLocked(next key) key {
	out := &s.outage
	switch {
	case next != probe:
		return next
	case s.Down && out.probing == nil && !s.isDueLocked(): // it was meant for an earlier time
		s.work.AddAfter(probe, time.Until(out.next))
		return probe
	case !s.isDueLocked() || len(out.parked) == 0:
		return probe
	}
	i := slices.IndexFunc(out.parked, func(k key) bool { return s.objects[k].tries == 0 && !s.held[k] })
	return out.parked[max(i, 0)]
}

func (s *schedule) isDueLocked() bool {
	return s.Down && s.outage.probing == nil && !time.Now().Before(s.outage.next)
}

// mayTakeLocked reports whether an object may be tried; else it is parked.
func (s *schedule) mayTakeLocked(k key, o *object) bool {
	out := &s.outage
	if s.Down && !s.isDueLocked() {
		s.parkLocked(k, o)
		return false
	}
	if o.state == parked {
		out.parked = slices.DeleteFunc(out.parked, func(p key) bool { return p == k })
	}
	if s.Down {
		out.probing = o
	}
	return true
}

func (s *schedule) parkLocked(k key, o *object) {
	o.state = parked
	s.outage.parked = append(s.outage.parked, k)
	if s.isDueLocked() { // nothing else would begin it
		s.work.Add(probe)
	}
}

// probeAfterLocked has the receiver tried after d.
func (s *schedule) probeAfterLocked(d time.Duration) {
	s.outage.next = time.Now().Add(d)
	s.work.AddAfter(probe, d)
}

func (s *schedule) countOutage(k key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &s.outage
	out.failed[k] = true
	said, isDown := errors.AsType[*DownError](err)
	switch {
	case s.Down && out.probing != s.objects[k] && !s.isDueLocked(): // it was under way before
		return
	case !s.Down && !isDown && len(out.failed) < downAfter:
		return
	}
	s.Down, out.probing = true, nil
	d := s.backoff(&out.delays)
	if isDown {
		d = max(d, said.RetryAfter)
	}
	s.probeAfterLocked(d)
	notify(s.changed)
	if s.ending && s.options.Store != nil {
		s.work.ShutDown() // what waits is for a later run
	}
}

// endOutageLocked: the receiver has answered.
func (s *schedule) endOutageLocked() {
	clear(s.outage.failed)
	if !s.Down {
		return
	}
	for _, k := range s.outage.parked {
		o := s.objects[k]
		o.state = ready
		s.calmLocked(o) // the receiver was failing
		s.work.Add(k)
	}
	s.Down, s.outage = false, outage{failed: s.outage.failed}
	notify(s.changed)
}

// expired is the first message of an object, and how often it was tried.
type expired struct {
	key   key
	item  item
	tries int
}

// takeExpired takes those objects out of what is parked whose first message came too long ago.
func (s *schedule) takeExpired() (taken []expired) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage.parked = slices.DeleteFunc(s.outage.parked, func(k key) bool {
		o := s.objects[k]
		isTaken := s.isExpiredLocked(o) && !s.held[k]
		if isTaken {
			o.state = busy
			taken = append(taken, expired{k, o.items[0], int(o.tries)})
		}
		return isTaken
	})
	return taken
}
