package deliver

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// schedule says what is sent next, how much waits, and what became of the rest.
type schedule struct {
	options Options
	made    time.Time
	work    workqueue.TypedDelayingInterface[key]
	changed chan struct{} // has one if there may be something to say
	freed   chan struct{} // has one if there may be room again

	// mu is held by who calls what has "Locked" in its name, and taken by all else.
	mu      sync.Mutex
	objects map[key]*object // of which something waits
	ending  bool            // nothing more comes
	outage  outage
	Stats         // but for Oldest and Reached
	reason  error // of the last failure
	about   string
	// held are the objects of which nothing is sent until released is signalled: what takes the
	// place of it is on its way to the Store. wanted are those that a worker waits for: they are
	// not held again before it has them.
	held, wanted map[key]bool
	released     *sync.Cond
}

// object is what waits of one object.
type object struct {
	items   []item // in their order, at least one
	next    moment // of the next try, in the state waits
	tries   int32  // of the first message; they failed
	delays  int8   // how often the wait has become longer
	state   state
	failing bool // the last try failed, and not for an outage that is over
}

// state says who will look at an object next. So it is looked at once.
type state uint8

const (
	ready  state = iota // it is in the workqueue
	busy                // a worker has it
	waits               // it will be in the workqueue when its time has come
	parked              // it waits for the receiver to be back
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
		held:    map[key]bool{},
		wanted:  map[key]bool{},
	}
	s.released = sync.NewCond(&s.mu)
	return s
}

// notify puts something into a channel that has room for one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is known already
	}
}

func (s *schedule) momentOf(t time.Time) moment { return moment(t.Sub(s.made)) }

func (s *schedule) since(m moment) time.Duration { return time.Since(s.made) - time.Duration(m) }

// awaitRoom waits until there is some room, or for the end of ctx: what comes then is bounded by
// what the watcher still has.
func (s *schedule) awaitRoom(ctx context.Context) {
	if s.hasRoom() {
		return
	}
	if held := s.options.OnBlocked; held != nil {
		held(true)
		defer held(false)
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
	isLeft := s.Bytes < s.options.MaxBytes
	if !isLeft && !s.Full {
		s.Full = true
		notify(s.changed)
	}
	return isLeft
}

// leaveLocked makes room again. That there was none is over when half of it is free.
func (s *schedule) leaveLocked(size int64) {
	s.Bytes -= size
	if s.Full && s.Bytes <= s.options.MaxBytes/2 {
		s.Full = false
		notify(s.changed)
	}
	notify(s.freed)
}

// enter has entries wait: each behind what waits of its object, or in the place of the last of
// that.
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
		case o != nil: // it is looked at already
			o.items = append(o.items, e.item)
		default:
			s.objects[e.key] = &object{items: []item{e.item}}
			s.work.Add(e.key)
		}
		s.Waiting++
	}
}

// take returns the object that is to be looked at next, which is busy then, and the first of it
// that waits. It finds nothing if it is not the time for that.
func (s *schedule) take(next key) (k key, it item, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k = s.resolveLocked(next); s.held[k]; k = s.resolveLocked(next) {
		s.wanted[k] = true // or one of which something comes all the time would always be held
		s.released.Wait()
		delete(s.wanted, k) // a probe may mean another object now
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

// delivered: the receiver has the first message of an object.
func (s *schedule) delivered(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Delivered++
	s.endOutageLocked()
	s.dropLocked(k)
}

// interrupted: the end came first.
func (s *schedule) interrupted(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[k].state = waits
}

// again has an object looked at again, of which a try was cut short, for no fault of the receiver.
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

// failed notes that the first message of an object was not taken. It returns how often so far, and
// whether it came too long ago.
func (s *schedule) failed(k key, subject string, err error, isRefused bool) (tries int, expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isRefused {
		s.Refused++
	} else {
		s.Failed++
	}
	s.reason, s.about = err, subject
	o := s.objects[k]
	o.tries++
	o.failing = true
	notify(s.changed)
	return int(o.tries), s.isExpiredLocked(o)
}

// calmLocked: of an object nothing is known that would make it fail.
func (s *schedule) calmLocked(o *object) {
	if o.failing {
		o.failing = false
		notify(s.changed)
	}
}

// dropLocked takes out the first message of an object, which is done, and has what waits behind it
// looked at.
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

// gaveUp: the first message of an object is done, and was not delivered. The receiver may have
// answered all the same.
func (s *schedule) gaveUp(k key, isAnswer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.GivenUp++
	if isAnswer {
		s.endOutageLocked()
	}
	s.dropLocked(k)
}

// wait has an object looked at again when its time has come.
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
		d = min(d, left) // the last try is at that time
	}
	o.state, o.next = waits, s.momentOf(time.Now().Add(d))
	s.work.AddAfter(k, d)
}

// firstBackoff is the longest wait before the second try.
const firstBackoff = time.Second

// backoff returns how long to wait after a failure: each time twice as long, up to MaxBackoff, with
// jitter, so that what failed together is not tried again together.
func (s *schedule) backoff(delays *int8) time.Duration {
	d := min(firstBackoff<<*delays, s.options.MaxBackoff)
	*delays = min(*delays+1, 30)
	return d - rand.N(d/2+1)
}

func (s *schedule) isExpiredLocked(o *object) bool {
	return s.options.GiveUpAfter > 0 && s.since(o.items[0].queued) >= s.options.GiveUpAfter
}

// finish: nothing more comes. What waits for its next try is tried at once.
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
