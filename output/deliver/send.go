package deliver

import (
	"context"
	"errors"
	"fmt"
)

// work sends until ctx ends, or nothing more is to be sent.
func (q *Queue) work(ctx context.Context) {
	for {
		next, end := q.schedule.work.Get()
		if end {
			return
		}
		q.sendNext(ctx, next)
		q.schedule.work.Done(next)
	}
}

// sendNext sends what is next, if it is the time for that.
func (q *Queue) sendNext(ctx context.Context, next key) {
	if ctx.Err() != nil {
		return
	}
	k, it, found := q.take(next)
	if !found {
		return
	}
	if q.rate.Wait(ctx) != nil {
		q.interrupted(k)
		return
	}
	m, err := q.open(it)
	if err != nil {
		q.interrupted(k)
		q.fail(err)
		return
	}
	switch err := q.receiver.Send(ctx, m); {
	case err == nil:
		q.delivered(k)
	case ctx.Err() != nil:
		q.interrupted(k)
	default:
		q.failed(k, m, err)
	}
}

// take returns the object that is to be looked at next, and the first of it that waits.
func (q *Queue) take(next key) (key, item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k, o := q.schedule.take(next)
	if o == nil {
		return k, item{}, false
	}
	if o.tries > 0 {
		q.done.Repeated++
	}
	return k, o.items[0], true
}

// open returns the message of an item.
func (q *Queue) open(it item) (*Message, error) {
	if it.message != nil {
		return it.message, nil
	}
	record, err := q.Store.Record(it.number)
	if err != nil {
		return nil, err
	}
	m, err := q.codec.decode(record)
	if err != nil {
		return nil, fmt.Errorf("read what waits for %s: %w (number %d)", q.Name, err, it.number)
	}
	return m, nil
}

// delivered: the receiver has the first message of an object.
func (q *Queue) delivered(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done.Delivered++
	q.schedule.endOutage()
	q.drop(k)
	q.schedule.requeue(k)
}

// interrupted: the end came first.
func (q *Queue) interrupted(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.schedule.objects[k].state = waits
}

// failed: the first message of an object was not taken.
func (q *Queue) failed(k key, m *Message, err error) {
	_, isRefused := errors.AsType[*RefusedError](err)
	tries, expired := q.countFailure(k, m, err, isRefused)
	gone := (isRefused || expired) && q.giveUp(m, tries, err)
	q.mu.Lock()
	if gone {
		q.drop(k)
	}
	if gone && isRefused {
		q.schedule.endOutage() // it has answered
	} else {
		q.schedule.countOutage(k, err)
	}
	if gone {
		q.schedule.requeue(k)
	} else {
		q.schedule.wait(k)
	}
	q.mu.Unlock()
	if expired {
		q.giveUpParked(err)
	}
}

// countFailure notes a failure. It returns how many tries of the message have failed, and
// whether it came too long ago.
func (q *Queue) countFailure(k key, m *Message, err error, isRefused bool) (tries int, expired bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if isRefused {
		q.done.Refused++
	} else {
		q.done.Failed++
	}
	q.reason, q.about = err, m.Subject
	return q.schedule.fail(k), q.schedule.isExpired(q.schedule.objects[k])
}

// drop takes out the first message of an object, which is done.
func (q *Queue) drop(k key) {
	it := q.schedule.drop(k)
	q.room.leave(it.size)
	if q.Store != nil {
		q.Store.Remove(it.number)
	}
}
