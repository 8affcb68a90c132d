package deliver

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// schedule says what is sent next: of each object one message after the other, what failed
// later and later, and one at a time while the receiver is down. It is used with the lock
// of its Queue held.
type schedule struct {
	clock
	giveUpAfter time.Duration // 0: never
	keeps       bool          // what waits at the end is for a later run
	noteChange  func()
	work        workqueue.TypedDelayingInterface[key]
	backoff     workqueue.TypedRateLimiter[key]

	// objects has those of which something waits, and waiting is of how much.
	objects map[key]*object
	waiting int
	failing int // objects that are
	outage  outage
	ending  bool // nothing more comes
	// held are the objects of which nothing is sent until released is signalled: what
	// takes the place of it is on its way to the Store. wanted are those that a worker
	// waits for: they are not held again before it has them.
	held, wanted map[key]bool
	released     *sync.Cond
}

// object is what waits of one object.
type object struct {
	items   []item // in their order, at least one
	next    moment // of the next try, in the state waits
	tries   int32  // of the first message; they failed
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

func newSchedule(o Options, c clock, lock sync.Locker, noteChange func()) *schedule {
	return &schedule{
		clock:       c,
		giveUpAfter: o.GiveUpAfter,
		keeps:       o.Store != nil,
		noteChange:  noteChange,
		work:        workqueue.NewTypedDelayingQueue[key](),
		backoff:     newBackoff(o.MaxBackoff),
		objects:     map[key]*object{},
		held:        map[key]bool{},
		wanted:      map[key]bool{},
		released:    sync.NewCond(lock),
	}
}

// add puts an item behind those of its object.
func (s *schedule) add(k key, it item) {
	s.waiting++
	if o := s.objects[k]; o != nil {
		o.items = append(o.items, it)
		return // it is looked at already
	}
	s.objects[k] = &object{items: []item{it}}
	s.work.Add(k)
}

// take returns the object that is to be looked at next, which is busy then; nil if it is
// not the time for that.
func (s *schedule) take(next key) (key, *object) {
	s.awaitRelease(next)
	k, found := next, false
	if next&probeBit != 0 {
		k, found = s.takeProbe(next)
	} else if o := s.objects[k]; o != nil && o.state != busy && o.state != parked {
		found = s.mayTake(k, o)
	}
	if !found {
		return k, nil
	}
	o := s.objects[k]
	o.state = busy
	return k, o
}

// fail notes that the first message of an object was not taken, and returns how often so
// far.
func (s *schedule) fail(k key) (tries int) {
	o := s.objects[k]
	o.tries++
	if !o.failing {
		o.failing = true
		s.failing++
	}
	s.noteChange()
	return int(o.tries)
}

// notFailing: of an object nothing is known that would make it fail.
func (s *schedule) notFailing(o *object) {
	if o.failing {
		o.failing = false
		s.failing--
		s.noteChange()
	}
}

// drop takes out the first message of an object, and returns what it was.
func (s *schedule) drop(k key) item {
	o := s.objects[k]
	it := o.items[0]
	o.items[0] = item{}
	o.items = o.items[1:]
	s.waiting--
	s.notFailing(o)
	o.tries = 0
	s.backoff.Forget(k)
	if len(o.items) == 0 {
		delete(s.objects, k)
	}
	if s.ending && s.waiting == 0 {
		s.work.ShutDown()
	}
	return it
}

// requeue has an object looked at again, if something of it waits.
func (s *schedule) requeue(k key) {
	o := s.objects[k]
	switch {
	case o == nil:
	case s.outage.down:
		s.park(k, o)
	default:
		o.state = ready
		s.work.Add(k)
	}
}

// wait has an object looked at again when its time has come.
func (s *schedule) wait(k key) {
	o := s.objects[k]
	if s.outage.down {
		s.park(k, o)
		return
	}
	d := s.backoff.When(k)
	if left := s.giveUpAfter - s.since(o.items[0].queued); s.giveUpAfter > 0 && left > 0 {
		d = min(d, left) // the last try is at that time
	}
	o.state, o.next = waits, s.momentOf(time.Now().Add(d))
	s.work.AddAfter(k, d)
}

// isExpired reports whether the first message of an object came too long ago.
func (s *schedule) isExpired(o *object) bool {
	return s.giveUpAfter > 0 && s.since(o.items[0].queued) >= s.giveUpAfter
}

// finish: nothing more comes. What waits for its next try is tried at once.
func (s *schedule) finish() {
	s.ending = true
	if s.waiting == 0 {
		s.work.ShutDown()
		return
	}
	if s.backoff.Forget(outageKey); s.outage.down && !s.outage.probing {
		s.probeAfter(0)
	}
	for k, o := range s.objects {
		if s.backoff.Forget(k); o.state == waits {
			o.state = ready
			s.work.Add(k)
		}
	}
}

// oldest returns for how long the oldest message has waited, and when the next try of what
// failed is; that is negative if there is none.
func (s *schedule) oldest() (age time.Duration, next moment) {
	next = -1
	for _, o := range s.objects {
		age = max(age, s.since(o.items[0].queued))
		if o.state == waits && (next < 0 || o.next < next) {
			next = o.next
		}
	}
	if s.outage.down {
		next = s.momentOf(s.outage.next)
	}
	return age, next
}
