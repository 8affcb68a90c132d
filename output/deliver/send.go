package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// work sends messages until ctx is done or the workqueue is shut down.
func (q *Queue) work(ctx context.Context) {
	for {
		next, end := q.schedule.work.Get()
		if end {
			return
		}
		k, it, found := q.schedule.take(next)
		q.schedule.work.Done(next)
		if found {
			q.send(ctx, k, it)
		}
	}
}

func (q *Queue) send(ctx context.Context, k key, it item) {
	var m *Message
	if q.rate.Wait(ctx) == nil {
		m = q.open(it)
	}
	if m == nil {
		q.schedule.interrupted(k)
		return
	}
	may, release, err := q.BeginAttempt(ctx)
	if err != nil {
		q.schedule.interrupted(k)
		return
	}
	defer release()
	try, end := WithDeadline(may, q.Deadline)
	defer end()
	switch err := q.receiver.Send(try, m); {
	case err == nil:
		q.schedule.delivered(k)
	case ctx.Err() != nil:
		q.schedule.interrupted(k)
	case may.Err() != nil:
		q.schedule.again(k)
	default:
		q.failed(k, m, err)
	}
}

// open returns the message of an item. If the Store can't be read, it calls fail and returns nil.
func (q *Queue) open(it item) *Message {
	if it.message != nil {
		return it.message
	}
	record, err := q.Store.Record(it.number)
	if err != nil {
		q.fail(err)
		return nil
	}
	m, err := q.codec.decode(record)
	if err != nil {
		q.fail(fmt.Errorf("read a waiting event for %s: %w (number %d)", q.Name, err, it.number))
		return nil
	}
	return m
}

func (q *Queue) failed(k key, m *Message, err error) {
	_, isRefused := errors.AsType[*RefusedError](err)
	tries, expired := q.schedule.failed(k, m.Subject, err, isRefused)
	gone := (isRefused || expired) && q.giveUp(m, tries, err)
	if !gone || !isRefused {
		q.schedule.countOutage(k, err)
	}
	if gone {
		q.schedule.gaveUp(k, isRefused)
	} else {
		q.schedule.wait(k)
	}
	if expired {
		q.giveUpParked(err)
	}
}

// giveUp writes a message to DeadLetters, and returns false if that fails. The caller must have taken its object.
func (q *Queue) giveUp(m *Message, tries int, reason error) bool {
	m.Rule = cmp.Or(m.Rule, q.Rule)
	if err := q.DeadLetters.write(m, time.Now(), tries, reason); err != nil {
		q.fail(err)
		return false
	}
	q.Warn(fmt.Sprintf("gave up %s of %s (%s): %s", m.Type, m.Subject, m.ID, explain(reason)))
	return true
}

// giveUpParked gives up the expired messages that wait for a receiver that is down.
func (q *Queue) giveUpParked(reason error) {
	for more := true; more; {
		taken := q.schedule.takeExpired()
		more = len(taken) > 0
		for _, one := range taken {
			m := q.open(one.item)
			if more = more && m != nil && q.giveUp(m, one.tries, reason); more {
				q.schedule.gaveUp(one.key, false)
			} else {
				q.schedule.wait(one.key)
			}
		}
	}
}

// fail keeps the first error of DeadLetters or the Store for Err, and calls OnStorageError with it, which should end Run.
func (q *Queue) fail(err error) {
	if q.err.CompareAndSwap(nil, &err) && q.OnStorageError != nil {
		q.OnStorageError(err)
	}
}
