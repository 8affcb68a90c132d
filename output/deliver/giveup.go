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
	q.done.givenUp++
	if q.DeadLetters == nil {
		q.done.lost++
	}
	q.mu.Unlock()
	if q.Warn != nil {
		q.Warn(fmt.Sprintf("gave up %s of %s (%s): %s", m.Type, m.Subject, m.ID, explain(reason)))
	}
	return true
}

// giveUpParked gives up what has waited for too long for a receiver that is down.
func (q *Queue) giveUpParked(reason error) {
	for _, k := range q.takeExpired() {
		m, tries := q.expired(k)
		for m != nil && q.giveUp(m, tries, reason) {
			q.mu.Lock()
			q.drop(k)
			q.mu.Unlock()
			m, tries = q.expired(k)
		}
		q.mu.Lock()
		q.requeue(k)
		q.mu.Unlock()
	}
}

// takeExpired takes those objects out of what is parked whose first message came too
// long ago.
func (q *Queue) takeExpired() (taken []key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := q.outage.parked[:0]
	for _, k := range q.outage.parked {
		if o := q.objects[k]; q.isExpired(o.items[0].queued) && !q.held[k] {
			o.state = busy
			taken = append(taken, k)
		} else {
			left = append(left, k)
		}
	}
	q.outage.parked = left
	return taken
}

// expired returns the first message of an object, if it came too long ago, and how often
// it was tried.
func (q *Queue) expired(k key) (*Message, int) {
	q.mu.Lock()
	o := q.objects[k]
	if o == nil || !q.isExpired(o.items[0].queued) || q.held[k] {
		q.mu.Unlock()
		return nil, 0
	}
	it, tries := o.items[0], int(o.tries)
	q.mu.Unlock()
	m, err := q.open(it)
	if err != nil {
		q.fail(err)
		return nil, 0
	}
	return m, tries
}

func (q *Queue) isExpired(queued moment) bool {
	return q.GiveUpAfter > 0 && q.since(queued) >= q.GiveUpAfter
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
