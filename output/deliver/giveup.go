package deliver

import (
	"fmt"
	"time"
)

// giveUp reports whether a message could be given up: it is where it is to be kept. The
// caller has its object.
func (q *Queue) giveUp(m *Message, tries int, reason error) bool {
	err := q.DeadLetters.write(m, time.Now(), tries, reason)
	if err != nil {
		q.fail(err)
		return false
	}
	q.mu.Lock()
	q.done.GivenUp++
	q.mu.Unlock()
	if q.Warn != nil {
		q.Warn(fmt.Sprintf("gave up %s of %s (%s): %s", m.Type, m.Subject, m.ID, explain(reason)))
	}
	return true
}

// giveUpParked gives up what has waited for too long for a receiver that is down.
func (q *Queue) giveUpParked(reason error) {
	q.mu.Lock()
	taken := q.schedule.takeExpired()
	q.mu.Unlock()
	for _, k := range taken {
		for q.giveUpFirst(k, reason) {
		}
		q.mu.Lock()
		q.schedule.requeue(k)
		q.mu.Unlock()
	}
}

// giveUpFirst gives up the first message of an object that the caller has, if it came too
// long ago, and reports whether it did.
func (q *Queue) giveUpFirst(k key, reason error) bool {
	q.mu.Lock()
	o := q.schedule.objects[k]
	if o == nil || !q.schedule.isExpired(o) || q.schedule.held[k] {
		q.mu.Unlock()
		return false
	}
	it, tries := o.items[0], int(o.tries)
	q.mu.Unlock()
	m, err := q.open(it)
	if err != nil {
		q.fail(err)
		return false
	}
	if !q.giveUp(m, tries, reason) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(k)
	return true
}

// fail ends the delivery: what is given up can't be kept, or what waits not be read.
func (q *Queue) fail(err error) {
	q.mu.Lock()
	first := q.err == nil
	if first {
		q.err = err
	}
	q.mu.Unlock()
	if first && q.Failed != nil {
		q.Failed(err)
	}
}
