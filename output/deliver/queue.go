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

// Options configures a Queue. Its fields are independent settings.
type Options struct {
	Name string // the name of the receiver in messages
	// Encode appends an encoded event that ends with a line feed. It appends nothing if the event must not be sent, which is not
	// allowed with LatestOnly. Subject returns the name of the object for people. Deliver calls both.
	Encode  func(dst []byte, e event.Event) ([]byte, error)
	Subject func(event.Event) string
	// Source returns the source of CloudEvents from a cluster. It is nil unless there are several clusters.
	Source func(cluster string) string

	Workers    int           // the number of objects that are served concurrently; 0 means 1
	Deadline   time.Duration // the maximum duration of an attempt; 0 means no limit
	MaxBackoff time.Duration // the maximum delay between two attempts; 0 means a minute
	Rate       float64       // the maximum number of attempts per second; 0 means no limit
	// BeginAttempt waits until an attempt may begin, and returns its context. If that context is done early, the attempt is
	// repeated and does not count. After an error, the attempt is not made, and the message waits until Drain. nil always permits
	// attempts.
	BeginAttempt func(context.Context) (context.Context, context.CancelFunc, error)
	// GiveUpAfter is the age at which a message is given up after a failed attempt. While the receiver is down, the attempt of
	// another message counts, too. 0 means never.
	GiveUpAfter time.Duration
	DeadLetters DeadLetterFile // gets the messages that are given up
	Rule        string         // the rule that the Queue belongs to; empty without rules
	// Store contains the waiting messages. With it, Deliver returns once the batch is stored, and a later run sends the messages
	// that still wait at the end. If nil, messages wait in memory.
	Store Store
	// MaxBytes is the maximum size of the waiting messages, which are compressed in a Store. 0 means DefaultMaxBytes. A message
	// (with a Store, a batch) is accepted as a whole if there is any room.
	MaxBytes   int64
	LatestOnly bool // delivers only the last state of each object, by merging waiting messages

	// Log gets a line about the state of the delivery when it changes, and once a minute while messages wait for long. Warn gets
	// a line for each message that is given up. They are called concurrently. nil discards the lines.
	Log, Warn func(line string)
	// OnBlocked is called with true when Deliver or Redelivery.Feed begins to wait for room, and with false afterwards. It may be
	// nil.
	OnBlocked func(held bool)
	// OnStorageError is called if DeadLetters can't be written or the Store can't be read. The affected message keeps waiting,
	// and Err returns the error. It may be nil.
	OnStorageError func(error)
}

// DefaultMaxBytes is the default of Options.MaxBytes.
const DefaultMaxBytes = 64 << 20

// Queue is a Sink that delivers events to a Receiver. See the package comment. It embeds Options because accepting, sending and
// reporting all read them.
type Queue struct {
	Options
	receiver Receiver
	codec    *codec // nil without a Store
	body     []byte // a buffer for Deliver
	rate     *rate.Limiter
	schedule *schedule
	err      atomic.Pointer[error]
}

var _ event.Sink = (*Queue)(nil)

// New returns an empty Queue.
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

// Run sends messages until ctx is done or, after Drain, until no message waits or, with a Store, the receiver is down. It must be
// called once.
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

// Drain announces that Deliver will not be called again. The Queue retries waiting messages at once.
func (q *Queue) Drain() { q.schedule.finish() }

// Err returns the error for which OnStorageError was called, if any.
func (q *Queue) Err() error {
	if err := q.err.Load(); err != nil {
		return *err
	}
	return nil
}
