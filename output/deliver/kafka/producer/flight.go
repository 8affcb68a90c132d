package producer

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/deliver"
)

// flight is a record on its way. It outlives a try that has no time to see its end, so that the next one does not send it a
// second time.
type flight struct {
	message string             // the ID of that which it is of
	cancel  context.CancelFunc // has it not sent, if it is not sent yet
	ended   context.Context    // by cancel
	done    chan struct{}
	err     error // why it is not stored; only when it is done
}

// slot is what one record of an object is in at a time: its event, or its tombstone. An object that two resources show has them
// for each.
type slot struct {
	resource    schema.GroupResource
	object      string
	isTombstone bool
}

func slotOf(m *deliver.Message, isTombstone bool) slot {
	return slot{m.Resource.GroupResource(), m.ObjectID(), isTombstone}
}

// errCancelled: a record was not sent, or refused, together with another one that was not to be sent any more.
var errCancelled = errors.New("it was not sent")

// fly returns the flight of a record, which begins now unless it has begun before.
func (r *Receiver) fly(s *session, m *deliver.Message, at slot, record *kgo.Record) *flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.flights[at]; f != nil {
		return f
	}
	f := &flight{message: m.ID, done: make(chan struct{})}
	f.ended, f.cancel = context.WithCancel(context.Background())
	r.flights[at] = f
	r.busy++
	s.client.TryProduce(f.ended, record, func(_ *kgo.Record, err error) { r.landed(s, at, f, err) })
	return f
}

// landed: it is known what became of a flight. One that has failed begins anew with the next try.
func (r *Receiver) landed(s *session, at slot, f *flight, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	if f.err = err; err != nil {
		if r.flights[at] == f {
			delete(r.flights, at)
		}
		if isOfSession(err) {
			s.ready.Store(false)
		}
	}
	close(f.done)
}

// isBusy reports whether a record is on its way, which a try has left there.
func (r *Receiver) isBusy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy > 0
}

// forgetOthers takes out what other messages about the object of a message have left, which nobody asks for any more: an event
// that comes again later, with the same ID, is another one.
func (r *Receiver) forgetOthers(m *deliver.Message) {
	r.forget(m, func(f *flight) bool { return f.message != m.ID })
}

// forget takes out flights of the object of a message.
func (r *Receiver) forget(m *deliver.Message, which func(*flight) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range []slot{slotOf(m, false), slotOf(m, true)} {
		if f := r.flights[at]; f != nil && which(f) {
			f.cancel()
			delete(r.flights, at)
		}
	}
}

// await waits for the end of a flight, or of the try. While nothing is heard it asks whether all is well.
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

// ended is what a flight that is done says. A session that can't go on is dropped.
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

// isOfSession reports whether an error may be one that a session does not get over.
func isOfSession(err error) bool {
	return !isOfBatch(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, kgo.ErrMaxBuffered) && !errors.Is(err, kerr.TopicAuthorizationFailed)
}

func isTooLarge(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)
}

// isOfBatch reports whether an error is about a record, or about another one in its batch.
func isOfBatch(err error) bool {
	return isTooLarge(err) || errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.PolicyViolation)
}

func isNoTopic(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InvalidTopicException)
}
