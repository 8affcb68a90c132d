package deliver

import (
	"context"
	"errors"
	"time"
)

// turn takes what is next and sends it. It reports false when nothing more is to be
// sent.
func (q *Queue) turn(ctx context.Context) bool {
	next, end := q.work.Get()
	if end {
		return false
	}
	defer q.work.Done(next)
	if ctx.Err() != nil {
		return true
	}
	k, it, found := q.take(next)
	if !found {
		return true
	}
	if q.rate.Wait(ctx) != nil {
		q.interrupted(k)
		return true
	}
	m, err := q.open(it)
	if err != nil {
		q.interrupted(k)
		q.fail(err)
		return true
	}
	switch err := q.receiver.Send(ctx, m); {
	case err == nil:
		q.delivered(k)
	case ctx.Err() != nil:
		q.interrupted(k)
	default:
		q.failed(k, it, m, err)
	}
	return true
}

// take returns the object that is to be looked at next, and the first of it that waits;
// false if it is not the time for that.
func (q *Queue) take(k key) (key, item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitRelease(k)
	if k&probeBit != 0 {
		var found bool
		if k, found = q.takeProbe(k); !found {
			return k, item{}, false
		}
	} else if o := q.objects[k]; o == nil || o.state == busy || o.state == parked || !q.mayTake(k, o) {
		return k, item{}, false
	}
	o := q.objects[k]
	if o.state = busy; o.tries > 0 {
		q.done.repeated++
	}
	return k, o.items[0], true
}

// delivered: the receiver has the first message of an object.
func (q *Queue) delivered(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done.delivered++
	q.endOutage()
	q.drop(k)
	q.requeue(k)
}

// interrupted: the end came first.
func (q *Queue) interrupted(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.objects[k].state = waits
}

// failed: a message was not taken.
func (q *Queue) failed(k key, it item, m *Message, err error) {
	tries := q.note(k, m, err)
	_, isRefused := errors.AsType[*RefusedError](err)
	expired := q.isExpired(it.queued)
	gone := isRefused || expired
	if gone {
		gone = q.giveUp(m, tries, err)
	}
	q.mu.Lock()
	if isRefused {
		q.done.refused++
	} else {
		q.done.failed++
	}
	if gone {
		q.drop(k)
	}
	switch {
	case gone && isRefused:
		q.endOutage() // it has answered
		q.requeue(k)
	case gone:
		q.countOutage(k, err)
		q.requeue(k)
	default:
		q.countOutage(k, err)
		q.wait(k, it)
	}
	q.mu.Unlock()
	if expired {
		q.giveUpParked(err)
	}
}

// note notes a failure, and returns how many tries of the message have failed.
func (q *Queue) note(k key, m *Message, err error) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := q.objects[k]
	o.tries++
	if !o.failing {
		o.failing = true
		q.failing++
	}
	q.reason, q.about = err, m.Subject
	q.noteChange()
	return int(o.tries)
}

// drop takes out the first message of an object.
func (q *Queue) drop(k key) {
	o := q.objects[k]
	it := o.items[0]
	o.items[0] = item{}
	o.items = o.items[1:]
	q.waiting--
	q.leave(it)
	if q.Store != nil {
		q.Store.Remove(it.number)
	}
	q.notFailing(o)
	o.tries = 0
	q.backoff.Forget(k)
	if len(o.items) == 0 {
		delete(q.objects, k)
	}
	if q.ending && q.waiting == 0 {
		q.work.ShutDown()
	}
}

// notFailing: of an object nothing is known that would make it fail.
func (q *Queue) notFailing(o *object) {
	if o.failing {
		o.failing = false
		q.failing--
		q.noteChange()
	}
}

// requeue has an object looked at again, if something of it waits.
func (q *Queue) requeue(k key) {
	o := q.objects[k]
	switch {
	case o == nil:
	case q.outage.down:
		q.park(k, o)
	default:
		o.state = ready
		q.work.Add(k)
	}
}

// wait has an object looked at again when its time has come.
func (q *Queue) wait(k key, it item) {
	o := q.objects[k]
	if q.outage.down {
		q.park(k, o)
		return
	}
	d := q.backoff.When(k)
	if left := q.GiveUpAfter - q.since(it.queued); q.GiveUpAfter > 0 && left > 0 {
		d = min(d, left) // the last try is at that time
	}
	o.state, o.next = waits, q.momentOf(time.Now().Add(d))
	q.work.AddAfter(k, d)
}
