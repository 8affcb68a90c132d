package producer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/deliver"
)

// flight is a record in flight. It may outlive an attempt, so that the next attempt does not send the record a second time.
type flight struct {
	message string             // the ID of the message
	cancel  context.CancelFunc // prevents the client from sending the record, if it has not done so yet
	ended   context.Context    // done after cancel
	done    chan struct{}      // closed when the result is known
	err     error              // the result; nil if the record is stored; valid once done is closed
}

// slot is the key of a flight. At any time, an object has at most one flight for its event and one for its tombstone. An object that
// is served as two resources has them for each resource.
type slot struct {
	resource    schema.GroupResource
	object      string
	isTombstone bool
}

func slotOf(m *deliver.Message, isTombstone bool) slot {
	return slot{m.Resource.GroupResource(), m.ObjectID(), isTombstone}
}

// errCancelled is the result of a flight that the client cancelled, possibly together with another record.
var errCancelled = errors.New("it was not sent")

// flights has the pending flights, and the stored ones until their message is delivered. Its methods lock it.
type flights struct {
	mu     sync.Mutex
	bySlot map[slot]*flight
	busy   int // number of flights without a result, including forgotten ones
}

// fly returns the flight in a slot. If there is none, it starts one with record.
func (a *flights) fly(s *session, m *deliver.Message, at slot, record *kgo.Record) *flight {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.bySlot[at]; f != nil {
		return f
	}
	f := &flight{message: m.ID, done: make(chan struct{})}
	f.ended, f.cancel = context.WithCancel(context.Background())
	a.bySlot[at] = f
	a.busy++
	s.client.TryProduce(f.ended, record, func(_ *kgo.Record, err error) { a.landed(s, at, f, err) })
	return f
}

// landed handles the result of a flight. A failed flight leaves its slot, so that the next attempt sends the record again.
func (a *flights) landed(s *session, at slot, f *flight, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy--
	if f.err = err; err != nil {
		if a.bySlot[at] == f {
			delete(a.bySlot, at)
		}
		if isOfSession(err) {
			s.ready.Store(false)
		}
	}
	close(f.done)
}

// isBusy reports whether any flight has no result yet.
func (a *flights) isBusy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.busy > 0
}

// forgetOthers removes the flights of earlier messages about the same object. If such a message is sent again later with the same ID,
// it gets a new flight.
func (a *flights) forgetOthers(m *deliver.Message) {
	a.forget(m, func(f *flight) bool { return f.message != m.ID })
}

// forget cancels and removes the flights of a message's object for which which returns true.
func (a *flights) forget(m *deliver.Message, which func(*flight) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range []slot{slotOf(m, false), slotOf(m, true)} {
		if f := a.bySlot[at]; f != nil && which(f) {
			f.cancel()
			delete(a.bySlot, at)
		}
	}
}

// await returns the result of a flight. When ctx is done, it cancels the flight. Each PingInterval without a result, it checks the
// brokers and the topic, and cancels the flight if they fail.
func (r *Receiver) await(ctx context.Context, s *session, f *flight) error {
	silence := time.NewTicker(r.PingInterval)
	defer silence.Stop()
	for {
		select {
		case <-f.done:
			return r.ended(s, f)
		case <-ctx.Done():
			f.cancel()
			return context.Cause(ctx)
		case <-silence.C:
			s.ready.Store(false)
			_, err := r.open(ctx)
			if inClear := r.inClear.Swap(nil); err == nil && inClear != nil {
				err = inClear
			}
			if err != nil {
				f.cancel()
				return deliver.AsDownError(err)
			}
		}
	}
}

// ended returns the result of a flight that is done. If the session is unusable, it drops the session.
func (r *Receiver) ended(s *session, f *flight) error {
	switch {
	case f.err == nil:
		return nil
	case errors.Is(f.err, context.Canceled):
		return errCancelled
	case isOfSession(f.err):
		r.drop(s)
	}
	return f.err
}

// isOfSession reports whether an error may make the session unusable.
func isOfSession(err error) bool {
	return !isOfBatch(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, kgo.ErrMaxBuffered) && !errors.Is(err, kerr.TopicAuthorizationFailed)
}

func isTooLarge(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)
}

// isOfBatch reports whether a broker rejected a record, possibly because of another record in the same batch.
func isOfBatch(err error) bool {
	return isTooLarge(err) || errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.PolicyViolation)
}

func isNoTopic(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InvalidTopicException)
}
