package deliver

import (
	"bytes"
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"

	"dwatch/output"
	"dwatch/watcher/event"
)

// Options says how to deliver.
type Options struct {
	// Name is the receiver as people know it.
	Name string
	// Encode appends an event as it is sent, with a newline at its end, and Subject
	// names its object for people. Both are called from the goroutine of Deliver.
	Encode  func(dst []byte, e event.Event) ([]byte, error)
	Subject func(event.Event) string

	// Workers is how many objects are sent at the same time; 0: one.
	Workers int
	// MaxBackoff is the longest wait between two tries; 0: a minute.
	MaxBackoff time.Duration
	// Rate is how many tries a second there are at most; 0: no bound.
	Rate float64
	// GiveUpAfter is how long after it came a message is given up, when a try of it
	// fails, or one of another message while the receiver is down; 0: never.
	GiveUpAfter time.Duration
	// DeadLetters gets what is given up; nil: nothing does.
	DeadLetters *DeadLetters
	// Room is how many bytes may wait; 0: DefaultRoom. A larger message waits alone.
	Room int64

	// Say gets how the delivery is, a line at a time: at changes, and once a minute
	// while something waits. Warn gets what is given up. Both are called from
	// several goroutines; nil: nobody is told.
	Say, Warn func(line string)
	// Failed is called when DeadLetters can't be written. What should be in it waits;
	// Err has the error.
	Failed func(error)
}

// DefaultRoom is how much waits by default.
const DefaultRoom = 64 << 20

// Queue is a Sink that delivers to a Receiver. See the package comment.
type Queue struct {
	Options
	receiver Receiver
	work     workqueue.TypedDelayingInterface[key]
	backoff  workqueue.TypedRateLimiter[key]
	rate     *rate.Limiter
	room     *semaphore.Weighted
	changed  chan struct{} // has one if there may be something to say

	mu sync.Mutex
	// objects has those of which something waits, and waiting is of how much.
	objects map[key]*object
	waiting int
	used    int64
	full    bool // there was no room, and there still is little
	outage  outage
	failing int   // objects that are
	reason  error // of the last failure
	about   string
	done    counts
	ending  bool // nothing more comes
	err     error
}

// counts is what became of the messages.
type counts struct{ delivered, repeated, givenUp, lost, failed, refused int }

// object is what waits of one object.
type object struct {
	messages []*Message // in their order, at least one
	state    state
	tries    int       // of the first message; they failed
	failing  bool      // the last try failed, and not for an outage that is over
	next     time.Time // of the next try, in the state waits
}

// state says who will look at an object next. So it is looked at once.
type state int

const (
	ready  state = iota // it is in the workqueue
	busy                // a worker has it
	waits               // it will be in the workqueue when its time has come
	parked              // it waits for the receiver to be back
)

var _ event.Sink = (*Queue)(nil)

// New returns a Queue in which nothing waits.
func New(r Receiver, o Options) *Queue {
	o.Workers = max(o.Workers, 1)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, time.Minute)
	o.Room = cmp.Or(o.Room, DefaultRoom)
	q := &Queue{
		Options:  o,
		receiver: r,
		backoff:  newBackoff(o.MaxBackoff),
		rate:     rate.NewLimiter(rate.Inf, 1),
		room:     semaphore.NewWeighted(o.Room),
		changed:  make(chan struct{}, 1),
		objects:  map[key]*object{},
	}
	if o.Rate > 0 {
		q.rate.SetLimit(rate.Limit(o.Rate))
	}
	q.work = workqueue.NewTypedDelayingQueue[key]()
	return q
}

// Deliver implements event.Sink. It returns when all of batch waits, or is delivered.
// Marks are not sent.
func (q *Queue) Deliver(ctx context.Context, batch []event.Event) error {
	for i := range batch {
		e := &batch[i]
		if e.Type.IsMark() {
			continue
		}
		body, err := q.Encode(nil, *e)
		if err != nil {
			return err
		}
		m := newMessage(e, bytes.Clone(body), output.Line(q.Subject(*e)))
		q.put(ctx, m)
	}
	return nil
}

// put queues a message when there is room for it, or ctx has ended.
func (q *Queue) put(ctx context.Context, m *Message) {
	q.enter(ctx, m)
	q.add(m)
}

// enter waits for room for a message, or for the end of ctx.
func (q *Queue) enter(ctx context.Context, m *Message) {
	held := min(m.size, q.Room)
	if q.room.TryAcquire(held) {
		m.held = held
		return
	}
	q.mu.Lock()
	q.full = true
	q.noteChange()
	q.mu.Unlock()
	if q.room.Acquire(ctx, held) == nil {
		m.held = held
	}
}

// leave makes room again. That there was none is over when half of it is free.
func (q *Queue) leave(m *Message) {
	q.used -= m.held
	q.room.Release(m.held)
	if q.full && q.used <= q.Room/2 {
		q.full = false
		q.noteChange()
	}
}

// add puts a message behind those of its object.
func (q *Queue) add(m *Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.queued = time.Now()
	k := m.key()
	q.used += m.held
	q.waiting++
	if o := q.objects[k]; o != nil {
		o.messages = append(o.messages, m)
		return // it is looked at already
	}
	q.objects[k] = &object{messages: []*Message{m}}
	q.work.Add(k)
}

// Run sends until ctx ends, or until nothing waits after Finish. What then waits is not
// sent any more. It is called once.
func (q *Queue) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, q.work.ShutDown)
	defer stop()
	talking, silent := context.WithCancel(ctx)
	var workers, talker sync.WaitGroup
	talker.Go(func() { q.talk(talking) })
	for range q.Workers {
		workers.Go(func() {
			for q.turn(ctx) {
			}
		})
	}
	workers.Wait()
	silent()
	talker.Wait()
	q.work.ShutDown()
}

// Finish says that Deliver is not called any more. What waits for its next try is tried
// at once.
func (q *Queue) Finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ending = true
	if q.waiting == 0 {
		q.work.ShutDown()
		return
	}
	if q.backoff.Forget(outageKey); q.outage.down && !q.outage.probing {
		q.probeAfter(0)
	}
	for k, o := range q.objects {
		if q.backoff.Forget(k); o.state == waits {
			o.state = ready
			q.work.Add(k)
		}
	}
}

// Err returns why DeadLetters could not be written.
func (q *Queue) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}
