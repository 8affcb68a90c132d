package deliver

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"

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
	// Store keeps what waits; nil: it is in memory. With it Deliver returns when all of
	// batch is in the Store, and what waits at the end is for a later run.
	Store Store
	// Room is how many bytes may wait; 0: DefaultRoom. A larger message waits alone. In a
	// Store they are compressed, and a batch comes in as a whole as long as there is room
	// at all.
	Room int64
	// Latest: only the last state of each object has to arrive. What waits is merged.
	Latest bool

	// Say gets how the delivery is, a line at a time: at changes, and once a minute
	// while something waits. Warn gets what is given up. Both are called from
	// several goroutines; nil: nobody is told.
	Say, Warn func(line string)
	// Failed is called when DeadLetters can't be written, or the Store not be read. What
	// it is about waits; Err has the error.
	Failed func(error)
}

// DefaultRoom is how much waits by default.
const DefaultRoom = 64 << 20

// Queue is a Sink that delivers to a Receiver. See the package comment.
type Queue struct {
	Options
	receiver Receiver
	made     time.Time
	codec    *codec // of what is in the Store
	body     []byte // of the last message; only for Deliver
	work     workqueue.TypedDelayingInterface[key]
	backoff  workqueue.TypedRateLimiter[key]
	rate     *rate.Limiter
	freed    chan struct{} // has one if there may be room again
	changed  chan struct{} // has one if there may be something to say

	mu sync.Mutex
	// held are the objects of which nothing is sent until released is signalled: what
	// takes the place of it is on its way to the Store. wanted are those that a worker
	// waits for: they are not held again before it has them.
	held, wanted map[key]bool
	released     *sync.Cond
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
type counts struct{ delivered, repeated, givenUp, lost, failed, refused, merged int }

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

var _ event.Sink = (*Queue)(nil)

// New returns a Queue in which nothing waits.
func New(r Receiver, o Options) *Queue {
	o.Workers = max(o.Workers, 1)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, time.Minute)
	o.Room = cmp.Or(o.Room, DefaultRoom)
	q := &Queue{
		Options:  o,
		receiver: r,
		made:     time.Now(),
		backoff:  newBackoff(o.MaxBackoff),
		rate:     rate.NewLimiter(rate.Inf, 1),
		freed:    make(chan struct{}, 1),
		changed:  make(chan struct{}, 1),
		held:     map[key]bool{},
		wanted:   map[key]bool{},
		objects:  map[key]*object{},
	}
	q.released = sync.NewCond(&q.mu)
	if o.Store != nil {
		q.codec = newCodec()
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
	if q.Store != nil {
		return q.deliverStored(ctx, batch)
	}
	for i := range batch {
		if e := &batch[i]; !e.Type.IsMark() {
			if err := q.deliverInMemory(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliverInMemory queues an event.
func (q *Queue) deliverInMemory(ctx context.Context, e *event.Event) error {
	if q.Latest {
		if done, err := q.deliverMerged(e); done || err != nil {
			return err
		}
	}
	m, err := q.message(e)
	if err != nil {
		return err
	}
	q.put(ctx, m)
	return nil
}

// put queues a message when there is room for it, or ctx has ended.
func (q *Queue) put(ctx context.Context, m *Message) {
	q.awaitRoom(ctx, m.size)
	q.mu.Lock()
	defer q.mu.Unlock()
	m.queued = time.Now()
	q.add(m.key(), q.itemOf(m))
}

// add puts an item behind those of its object.
func (q *Queue) add(k key, it item) {
	q.used += it.size
	q.waiting++
	if o := q.objects[k]; o != nil {
		o.items = append(o.items, it)
		return // it is looked at already
	}
	q.objects[k] = &object{items: []item{it}}
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

// Err returns why DeadLetters could not be written, or the Store not be read.
func (q *Queue) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}
