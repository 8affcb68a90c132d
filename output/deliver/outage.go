package deliver

import (
	"errors"
	"slices"
	"time"
)

// outage is the state of a receiver that is down (Stats.Down): it returned a DownError, or the attempts of several objects failed in
// a row. While it is down, the Queue sends one message at a time as a probe, each of another object. All other objects are parked.
type outage struct {
	failed  map[key]bool // the objects with failed attempts since the last success
	next    time.Time    // when the next probe is due
	probing *object      // the object of the probe under way, or nil
	delays  int8         // number of times that the delay has grown
	parked  []key
}

const (
	// downAfter is the number of objects that must fail in a row.
	downAfter = 3
	// probe is the key of a probe in the workqueue. No object has it.
	probe key = 0
)

// resolveLocked returns the object for a key from the workqueue. For a probe it is a parked object, preferably one that has not
// failed, or probe itself if there is none or the probe is not due.
func (s *schedule) resolveLocked(next key) key {
	out := &s.outage
	switch {
	case next != probe:
		return next
	case s.Down && out.probing == nil && !s.isDueLocked(): // the time of the probe has changed
		s.work.AddAfter(probe, time.Until(out.next))
		return probe
	case !s.isDueLocked() || len(out.parked) == 0:
		return probe
	}
	i := slices.IndexFunc(out.parked, func(k key) bool { return s.objects[k].tries == 0 && !s.holds.held[k] })
	return out.parked[max(i, 0)]
}

func (s *schedule) isDueLocked() bool {
	return s.Down && s.outage.probing == nil && !time.Now().Before(s.outage.next)
}

// mayTakeLocked reports whether an object may be sent. Otherwise it parks the object.
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
	if s.isDueLocked() { // no other probe is scheduled
		s.work.Add(probe)
	}
}

// probeAfterLocked schedules a probe after d.
func (s *schedule) probeAfterLocked(d time.Duration) {
	s.outage.next = time.Now().Add(d)
	s.work.AddAfter(probe, d)
}

// countOutage notes a failed attempt, after which the receiver may count as down.
func (s *schedule) countOutage(k key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &s.outage
	out.failed[k] = true
	down, isDown := errors.AsType[*DownError](err)
	switch {
	case s.Down && out.probing != s.objects[k] && !s.isDueLocked(): // an attempt that began before the outage
		return
	case !s.Down && !isDown && len(out.failed) < downAfter:
		return
	}
	s.Down, out.probing = true, nil
	d := s.backoff(&out.delays)
	if isDown {
		d = max(d, down.RetryAfter)
	}
	s.probeAfterLocked(d)
	notify(s.changed)
	if s.ending && s.options.Store != nil {
		s.work.ShutDown() // a later run sends the waiting messages
	}
}

// endOutageLocked ends an outage after a response of the receiver.
func (s *schedule) endOutageLocked() {
	clear(s.outage.failed)
	if !s.Down {
		return
	}
	for _, k := range s.outage.parked {
		o := s.objects[k]
		o.state = ready
		s.calmLocked(o) // the outage was the reason
		s.work.Add(k)
	}
	s.Down, s.outage = false, outage{failed: s.outage.failed}
	notify(s.changed)
}

// expired is the first message of an object, with the number of its attempts.
type expired struct {
	key   key
	item  item
	tries int
}

// takeExpired removes the parked objects whose first message has expired.
func (s *schedule) takeExpired() (taken []expired) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage.parked = slices.DeleteFunc(s.outage.parked, func(k key) bool {
		o := s.objects[k]
		isTaken := s.isExpiredLocked(o) && !s.holds.held[k]
		if isTaken {
			o.state = busy
			taken = append(taken, expired{k, o.items[0], int(o.tries)})
		}
		return isTaken
	})
	return taken
}
