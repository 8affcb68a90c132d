package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/semaphore"

	"dwatch/output/deliver"
	"dwatch/output/deliver/kafka"
	"dwatch/output/deliver/secret"
	"dwatch/watcher/event"
)

// openTimeout is the maximum time for opening a connection, and for checking that the topic exists.
const openTimeout = 5 * time.Second

// Receiver produces messages to a topic. It has at most one session. It embeds Options because most of them apply to each session.
type Receiver struct {
	kafka.Options
	source  string
	login   *secret.Value[login]
	session atomic.Pointer[session]
	opening deliver.Opener[*session]
	inClear atomic.Pointer[inClearError] // the last broker that only supported PLAIN without TLS, until await reports it
	logins  sync.Map                     // the start of each unfinished login, by the address of the broker
	// room limits the size of the records in flight to bytes. A record that must be alone in its batch acquires all of it.
	room    *semaphore.Weighted
	bytes   int64
	reasons reasons
	flights flights
}

var _ deliver.Receiver = (*Receiver)(nil)

// largestRoom is the maximum size of the records for which attempts wait at a time.
const largestRoom = 64 << 20

// New returns a Receiver without connecting. It fails if a file can't be read or is invalid.
func New(o kafka.Options) (*Receiver, error) {
	o.PingInterval = cmp.Or(o.PingInterval, openTimeout)
	r := &Receiver{Options: o, room: semaphore.NewWeighted(largestRoom), bytes: largestRoom, flights: flights{bySlot: map[slot]*flight{}}}
	var err error
	if r.login, err = secret.Load(o.Login, parseLogin); err != nil {
		return nil, err
	}
	_, err = secret.TLSConfig(o.TLS)
	return r, err
}

// SetSource sets the attribute "source" of all messages, a URI. It must be called before Send.
func (r *Receiver) SetSource(source string) { r.source = source }

// Check checks that the topic exists. It returns a deliver.DownError if no broker can be reached or is ready, and a deliver.SetupError
// if there is no topic.
func (r *Receiver) Check(ctx context.Context) error {
	_, err := r.open(ctx)
	return err
}

// Close ends the session. Records in flight fail. Send must not be called afterwards.
func (r *Receiver) Close() {
	if s := r.session.Load(); s != nil {
		s.client.Close()
	}
}

// Abort ends the session, so that the client stops retrying records in flight. Without it, the client continues to retry them after
// the end of an attempt. The next Send opens a new session.
func (r *Receiver) Abort() {
	if s := r.session.Load(); s != nil {
		r.drop(s)
	}
}

// Send implements deliver.Receiver.
func (r *Receiver) Send(ctx context.Context, m *deliver.Message) error {
	r.flights.forgetOthers(m)
	err := r.store(ctx, m, slotOf(m, false), r.record(m))
	if m.Type == event.Deleted && (err == nil || isOfBatch(err)) { // even if the broker rejects the event, the object must disappear
		err = cmp.Or(r.store(ctx, m, slotOf(m, true), tombstone(m)), err)
	}
	if err == nil || isOfBatch(err) {
		r.flights.forget(m, func(*flight) bool { return true })
	}
	return r.explain(ctx, m, err)
}

// store returns nil once a record is stored. If a broker rejects the batch of the record, it produces the record again in its own
// batch.
func (r *Receiver) store(ctx context.Context, m *deliver.Message, at slot, record *kgo.Record) error {
	err := r.produce(ctx, m, at, record, min(sizeOf(record), r.bytes))
	if isOfBatch(err) {
		err = r.produce(ctx, m, at, record, r.bytes)
	}
	return err
}

// produce returns nil once a record is stored. takes is the part of room that it acquires.
func (r *Receiver) produce(ctx context.Context, m *deliver.Message, at slot, record *kgo.Record, takes int64) error {
	for {
		s, err := r.open(ctx)
		if err != nil {
			return deliver.AsDownError(err)
		}
		if err := r.room.Acquire(ctx, takes); err != nil {
			return context.Cause(ctx)
		}
		if takes == r.bytes && r.flights.isBusy() {
			r.room.Release(takes)
			return errors.New("records in flight prevent sending it in a batch of its own, trying again")
		}
		err = r.await(ctx, s, r.flights.fly(s, m, at, record))
		r.room.Release(takes)
		if errors.Is(err, errCancelled) || errors.Is(err, kgo.ErrClientClosed) {
			continue // another attempt was cancelled or ended the session, which also affected this record
		}
		return err
	}
}

// open returns a session in which the topic exists, as of the last check.
func (r *Receiver) open(ctx context.Context) (*session, error) {
	if s := r.session.Load(); s.isReady() {
		return s, nil
	}
	return r.opening.Open(ctx, openTimeout, func(ctx context.Context) (*session, error) {
		s := r.session.Load()
		if s.isReady() {
			return s, nil
		}
		if s == nil {
			var err error
			if s, err = r.newSession(); err != nil {
				return nil, &deliver.DownError{Err: err}
			}
			r.session.Store(s)
		}
		err := r.checkTopic(ctx, s)
		s.ready.Store(err == nil)
		return s, err
	})
}

// drop ends an unusable session. Its records in flight fail.
func (r *Receiver) drop(s *session) {
	if r.session.CompareAndSwap(s, nil) {
		s.client.Close()
	}
}

// explain converts the error of an attempt into an error that tells the Queue whether to retry, and whether other messages are
// affected.
func (r *Receiver) explain(ctx context.Context, m *deliver.Message, err error) error {
	late, isLate := errors.AsType[*deliver.DeadlineError](context.Cause(ctx))
	switch {
	case err == nil, isDown(err):
		return err
	case isLate:
		return fmt.Errorf("not stored within %s%s", late.After, r.reasons.since(time.Now().Add(-late.After)))
	case errors.Is(err, kgo.ErrMaxBuffered):
		return fmt.Errorf("the brokers have not answered for %d MB of records in flight, which is the maximum%s", 2*r.bytes>>20, r.reasons.since(time.Now().Add(-r.PingInterval)))
	case isTooLarge(err):
		return &deliver.RefusedError{Err: fmt.Errorf("it exceeds max.message.bytes of the topic: %d bytes before compression", len(m.Body))}
	case isOfBatch(err):
		return &deliver.RefusedError{Err: fmt.Errorf("the broker refuses it: %w", err)}
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return &deliver.DownError{Err: fmt.Errorf("the user may not write to the topic %s", r.Topic)}
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return &deliver.DownError{Err: errors.New("the user may not produce idempotently: before Kafka 2.8, this requires IdempotentWrite on the cluster")}
	case isNoTopic(err):
		return &deliver.DownError{Err: r.noTopic()}
	}
	return err
}
