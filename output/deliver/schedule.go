package deliver

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// schedule decides which message is sent next, and counts the waiting and finished messages. It embeds Stats because each step
// counts its result under the same lock.
type schedule struct {
	options Options
	made    time.Time
	work    workqueue.TypedDelayingInterface[key]
	changed chan struct{} // has an element if the status may have changed
	freed   chan struct{} // has an element if there may be room again

	// mu guards the fields below. Methods whose names end with Locked require it to be held; other methods lock it.
	mu      sync.Mutex
	objects map[key]*object // the objects with waiting messages
	ending  bool            // true if no more messages will be added
	outage  outage
	Stats   // Oldest and Reached are not set
	failure failure
	holds   holds
}

// failure is the last failed attempt.
type failure struct {
	err     error
	subject string // the Subject of the message
}

// object has the waiting messages of one object.
type object struct {
	items   []item // in order of arrival, at least one
	next    moment // when the next attempt is due, in the state waits
	tries   int32  // the number of failed attempts of the first message
	delays  int8   // the number of times that the delay has grown
	state   state
	failing bool // true if the last attempt failed, unless an outage was the reason and has ended
}

// state is the state of an object. It ensures that only one worker at a time sends messages of the object.
type state uint8

const (
	ready  state = iota // the object is in the workqueue
	busy                // a worker has taken the object
	waits               // the object is added to the workqueue when its next attempt is due
	parked              // the object waits for the end of an outage, or to be used as a probe
)

func newSchedule(o Options) *schedule {
	s := &schedule{
		options: o,
		made:    time.Now(),
		work:    workqueue.NewTypedDelayingQueue[key](),
		changed: make(chan struct{}, 1),
		freed:   make(chan struct{}, 1),
		objects: map[key]*object{},
		outage:  outage{failed: map[key]bool{}},
	}
	s.holds = newHolds(&s.mu)
	return s
}

// notify adds an element to a channel with a buffer of one, unless it has one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *schedule) momentOf(t time.Time) moment { return moment(t.Sub(s.made)) }

func (s *schedule) since(m moment) time.Duration { return time.Since(s.made) - time.Duration(m) }

// awaitRoom waits until there is any room or ctx is done. The byte budget of the watcher bounds the messages that are added after
// that.
func (s *schedule) awaitRoom(ctx context.Context) {
	if s.hasRoom() {
		return
	}
	if blocked := s.options.OnBlocked; blocked != nil {
		blocked(true)
		defer blocked(false)
	}
	for !s.hasRoom() {
		select {
		case <-s.freed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *schedule) hasRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	hasRoom := s.Bytes < s.options.MaxBytes
	if !hasRoom && !s.Full {
		s.Full = true
		notify(s.changed)
	}
	return hasRoom
}

// leaveLocked frees the room of a message. Full stays set until half of the room is free.
func (s *schedule) leaveLocked(size int64) {
	s.Bytes -= size
	if s.Full && s.Bytes <= s.options.MaxBytes/2 {
		s.Full = false
		notify(s.changed)
	}
	notify(s.freed)
}

// enter adds messages. Each is placed behind the waiting messages of its object or, if replaces is set, instead of the last one.
func (s *schedule) enter(entries ...*entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		s.Merged += e.merged
		s.Bytes += e.item.size
		o := s.objects[e.key]
		switch {
		case e.replaces != nil:
			o.items[len(o.items)-1] = e.item
			s.leaveLocked(e.replaces.size)
			continue
		case o != nil: // the object is scheduled already
			o.items = append(o.items, e.item)
		default:
			s.objects[e.key] = &object{items: []item{e.item}}
			s.work.Add(e.key)
		}
		s.Waiting++
	}
}

// take returns the object for a key from the workqueue, which it sets to busy, and the first waiting message of the object. found is
// false if no message of the object may be sent now.
func (s *schedule) take(next key) (k key, it item, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k = s.resolveLocked(next); s.holds.held[k]; k = s.resolveLocked(next) {
		s.holds.await(k) // a probe may resolve to another object afterwards
	}
	o := s.objects[k]
	if o == nil || o.state == busy || (o.state == parked) != (next == probe) || !s.mayTakeLocked(k, o) {
		return k, item{}, false
	}
	o.state = busy
	if o.tries > 0 {
		s.Retried++
	}
	return k, o.items[0], true
}

// delivered removes the first message of an object after the receiver has accepted it.
func (s *schedule) delivered(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Delivered++
	s.endOutageLocked()
	s.dropLocked(k)
}

// interrupted puts back an object whose attempt was not made or was cut short because the delivery ends. The object is not scheduled.
func (s *schedule) interrupted(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[k].state = waits
}

// again schedules an object whose attempt was cut short by BeginAttempt's context. That does not count as a failure.
func (s *schedule) again(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[k]
	if s.Down {
		if s.outage.probing == o {
			s.outage.probing = nil
		}
		s.parkLocked(k, o)
		return
	}
	o.state = ready
	s.work.Add(k)
}

// failed counts a failed attempt of the first message of an object. It returns the number of failed attempts of that message, and
// whether the message has reached the age at which it is given up.
func (s *schedule) failed(k key, subject string, err error, isRefused bool) (tries int, expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isRefused {
		s.Refused++
	} else {
		s.Failed++
	}
	s.failure = failure{err, subject}
	o := s.objects[k]
	o.tries++
	o.failing = true
	notify(s.changed)
	return int(o.tries), s.isExpiredLocked(o)
}

// calmLocked clears the failing state of an object.
func (s *schedule) calmLocked(o *object) {
	if o.failing {
		o.failing = false
		notify(s.changed)
	}
}

// dropLocked removes the first message of an object, also from the Store, and schedules the next one.
func (s *schedule) dropLocked(k key) {
	o := s.objects[k]
	it := o.items[0]
	o.items[0] = item{}
	o.items = o.items[1:]
	s.calmLocked(o)
	o.tries, o.delays = 0, 0
	s.Waiting--
	s.leaveLocked(it.size)
	if s.options.Store != nil {
		s.options.Store.Remove(it.number)
	}
	switch {
	case len(o.items) == 0:
		delete(s.objects, k)
	case s.Down:
		s.parkLocked(k, o)
	default:
		o.state = ready
		s.work.Add(k)
	}
	if s.ending && s.Waiting == 0 {
		s.work.ShutDown()
	}
}

// gaveUp removes the first message of an object after it was given up. isAnswer is true if the receiver refused it, which ends an
// outage.
func (s *schedule) gaveUp(k key, isAnswer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.GivenUp++
	if isAnswer {
		s.endOutageLocked()
	}
	s.dropLocked(k)
}

// wait schedules the next attempt of an object after a backoff. During an outage it parks the object.
func (s *schedule) wait(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[k]
	if s.Down {
		s.parkLocked(k, o)
		return
	}
	d := s.backoff(&o.delays)
	if left := s.options.GiveUpAfter - s.since(o.items[0].queued); s.options.GiveUpAfter > 0 && left > 0 {
		d = min(d, left) // the last attempt is made when the message expires
	}
	o.state, o.next = waits, s.momentOf(time.Now().Add(d))
	s.work.AddAfter(k, d)
}

// firstBackoff is the maximum delay before the second attempt.
const firstBackoff = time.Second

// backoff returns the delay after a failed attempt. The delay doubles each time, up to MaxBackoff. Its jitter spreads the retries of
// messages that failed together.
func (s *schedule) backoff(delays *int8) time.Duration {
	d := min(firstBackoff<<*delays, s.options.MaxBackoff)
	*delays = min(*delays+1, 30)
	return d - rand.N(d/2+1)
}

func (s *schedule) isExpiredLocked(o *object) bool {
	return s.options.GiveUpAfter > 0 && s.since(o.items[0].queued) >= s.options.GiveUpAfter
}

// finish notes that no more messages will be added. Messages that wait for a retry, or for a probe, are retried at once.
func (s *schedule) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	if s.Waiting == 0 {
		s.work.ShutDown()
		return
	}
	if s.outage.delays = 0; s.Down && s.outage.probing == nil {
		s.probeAfterLocked(0)
	}
	for k, o := range s.objects {
		if o.delays = 0; o.state == waits {
			o.state = ready
			s.work.Add(k)
		}
	}
}
