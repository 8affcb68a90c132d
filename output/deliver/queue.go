package deliver

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"dwatch/watcher/event"
)

// Options says how to deliver.
type Options struct {
	Name string // the receiver as people know it
	// Encode appends an event as it is sent, with a newline at its end, or nothing if it is not sent: not
	// with Latest. Subject names its object for people. Both are called from the goroutine of Deliver.
	Encode  func(dst []byte, e event.Event) ([]byte, error)
	Subject func(event.Event) string
	// Source is what CloudEvents have as the source of a cluster, in a run of several; nil: it is one.
	Source func(cluster string) string

	Workers    int           // how many objects are sent at the same time; 0: one
	Deadline   time.Duration // how long a try may take; 0: as long as the receiver likes
	MaxBackoff time.Duration // the longest wait between two tries; 0: a minute
	Rate       float64       // how many tries a second there are at most; 0: no bound
	// May returns the context of a try, which ends when none may be under way any more, for no fault of the receiver: then it is
	// tried again as if it had not been. It waits until one may begin; an error is of who will not let one any more; nil: always.
	BeginAttempt func(context.Context) (context.Context, context.CancelFunc, error)
	// GiveUpAfter is how long after it came a message is given up, when a try of it fails, or one
	// of another message while the receiver is down; 0: never.
	GiveUpAfter time.Duration
	DeadLetters DeadLetterFile // gets what is given up
	Rule        string         // whose that is, of several rules; empty: there are none
	// Store keeps what waits; nil: it is in memory. With it Deliver returns when all of batch is in
	// the Store, and what waits at the end is for a later run.
	Store Store
	// Room is how many bytes may wait; 0: DefaultRoom. In a Store they are compressed. A
	// message, and in a Store a batch, comes in as a whole as long as there is room at all.
	MaxBytes   int64
	LatestOnly bool // only the last state of each object has to arrive: what waits is merged

	// Say gets how the delivery is, a line at a time: at changes, and once a minute while something
	// waits. Warn gets what is given up. Both are called from several goroutines; nil: nobody gets
	// them.
	Log, Warn func(line string)
	// Held is called by Deliver when it begins to wait for room, and when it ends to; nil: nobody is told.
	OnBlocked func(held bool)
	// Failed is called when DeadLetters can't be written, or the Store not be read. What it is
	// about waits; Err has the error.
	OnStorageError func(error)
}

// DefaultRoom is how much waits by default.
const DefaultMaxBytes = 64 << 20

// Queue is a Sink that delivers to a Receiver. See the package comment.
type Queue struct {
	Options
	receiver Receiver
	codec    *codec // of what is in the Store
	body     []byte // of the last message; only for Deliver
	rate     *rate.Limiter
	schedule *schedule
	err      atomic.Pointer[error]
}

var _ event.Sink = (*Queue)(nil)

// New returns a Queue in which nothing waits.
func New(r Receiver, o Options) *Queue {
	o.Workers = max(o.Workers, 1)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, time.Minute)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	for _, say := range []*func(string){&o.Log, &o.Warn} {
		if *say == nil {
			*say = func(string) {}
		}
	}
	if o.BeginAttempt == nil {
		o.BeginAttempt = func(ctx context.Context) (context.Context, context.CancelFunc, error) { return ctx, func() {}, nil }
	}
	q := &Queue{Options: o, receiver: r, rate: rate.NewLimiter(rate.Inf, 1), schedule: newSchedule(o)}
	if o.Store != nil {
		q.codec = newCodec()
	}
	if o.Rate > 0 {
		q.rate.SetLimit(rate.Limit(o.Rate))
	}
	return q
}

// Run sends until ctx ends, or until nothing waits after Finish. What then waits is not sent any
// more. It is called once.
func (q *Queue) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, q.schedule.work.ShutDown)()
	reporting, silent := context.WithCancel(ctx)
	var workers, reporter sync.WaitGroup
	reporter.Go(func() { q.report(reporting) })
	for range q.Workers {
		workers.Go(func() { q.work(ctx) })
	}
	workers.Wait()
	silent()
	reporter.Wait()
	q.schedule.work.ShutDown()
}

// Finish says that Deliver is not called any more. What waits for its next try is tried at once.
func (q *Queue) Drain() { q.schedule.finish() }

// Err returns why DeadLetters could not be written, or the Store not be read.
func (q *Queue) Err() error {
	if err := q.err.Load(); err != nil {
		return *err
	}
	return nil
}
