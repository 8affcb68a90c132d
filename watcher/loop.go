package watcher

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// loop creates the events of one Run. It receives the messages of all targets, and nothing else
// calls the sink. Because it owns the targets' ledgers, they need no lock.
type loop struct {
	sink       event.Sink
	queue      *queue
	budget     *source.ByteBudget
	cancel     context.CancelCauseFunc
	states     *event.WatchStates // after the events that were delivered
	recheckAll func()

	starting int       // how many of the initial targets have not ended
	served   bool      // the server has served at least one target
	refused  []*target // targets with a refusal that has not been reported

	batch    []event.Event
	reserved int64 // bytes of the budget that the batch occupies
	sinkErr  error
}

// startError ends Run because a target could not start.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

// maxBatch is the number of events after which a batch is delivered. It allows large writes and few
// commits.
const maxBatch = maxSpare

// run delivers events until the queue is closed and empty. After an error of the sink, which it
// returns, run discards messages.
func (l *loop) run(ctx context.Context, beats <-chan time.Time, recheck <-chan struct{}) error {
	var messages []message
	for open := true; open; {
		beat := false
		select {
		case <-l.queue.ready:
		case <-recheck:
			l.recheckAll()
		case <-beats:
			beat = true
		}
		messages, open = l.queue.take(messages)
		for i := range messages {
			l.handle(&messages[i])
			if len(l.batch) >= maxBatch {
				l.deliver(ctx)
			}
		}
		l.deliver(ctx)
		if beat { // after everything that was received before it
			l.batch = append(l.batch, l.heartbeat())
			l.deliver(ctx)
		}
		messages = reuse(messages)
	}
	return l.sinkErr
}

// heartbeat returns a Heartbeat event for the state that the delivered events have led to.
func (l *loop) heartbeat() event.Event {
	return event.Event{
		Type:  event.Heartbeat,
		Count: l.states.Present(), Connected: l.states.Connected(), LastEvent: l.states.LastEvent,
	}
}

func (l *loop) handle(m *message) {
	t := m.target
	switch m.kind {
	case msgObserved:
		served := t.progress.hasBeenServed()
		l.batch = t.observe(l.batch, m.Observation)
		if !served && t.progress.hasBeenServed() {
			l.served = true
			l.resolveRefusals(t)
		}
	case msgRefused:
		t.progress.refuse(lossType(m.Err))
		t.refusal = m.Err
		l.refused = append(l.refused, t)
		l.resolveRefusals(nil)
	case msgSwitched:
		t.switchTo(m.Target)
	case msgJoined:
		l.batch = t.join(l.batch, m)
	case msgLeft:
		l.batch = t.leave(l.batch, m.Err)
	case msgVerify:
		t.beginVerification(m.verification)
	case msgListed:
		t.compareListed(m.verification)
	case msgEnded:
		l.starting--
		l.resolveRefusals(t)
	case msgGone:
		l.batch = t.vanish(l.batch)
	}
	t.updateIdle()
	l.reserved += m.ReservedBytes
}

// resolveRefusals decides what happens to refusals that arrived before their targets were served. If
// the server refused all targets, Run ends. If it has served one, the refusals of the others are
// reported. resolved, if not nil, is a target that does not count as refused any more.
func (l *loop) resolveRefusals(resolved *target) {
	l.refused = slices.DeleteFunc(l.refused, func(t *target) bool { return t == resolved })
	switch {
	case len(l.refused) == 0:
	case l.served:
		for _, t := range l.refused {
			l.batch = t.reportRefusal(l.batch)
		}
		l.refused = nil
	case len(l.refused) == l.starting:
		slices.SortFunc(l.refused, func(a, b *target) int { return cmp.Compare(a.index, b.index) })
		var errs []error
		for _, t := range l.refused {
			errs = append(errs, t.refusal)
		}
		l.cancel(&startError{errors.Join(errs...)})
	}
}

// deliver delivers the batch. Its events get the current time, unless they have one. Status events
// need it, too, because a status event must not be older than the event that it follows.
func (l *loop) deliver(ctx context.Context) {
	if len(l.batch) > 0 && l.sinkErr == nil {
		now := time.Now()
		for i := range l.batch {
			e := &l.batch[i]
			if e.Time.IsZero() {
				e.Time = now
			}
			l.states.Observe(e)
		}
		if err := l.sink.Deliver(ctx, l.batch); err != nil {
			l.sinkErr = err
			l.cancel(err)
		}
	}
	l.batch = reuse(l.batch)
	l.budget.Release(l.reserved)
	l.reserved = 0
}

// message tells the loop what a target's source has observed, or how the target has changed. It is one type because the loop
// receives messages of all kinds in one order.
type message struct {
	target *target
	kind   messageKind
	source.Observation
	// narrower are the targets that the target replaces, in msgJoined.
	narrower []*target
	// status is Arrived or Joined, in msgJoined.
	status event.Type
	// mayHaveExisted is true in msgJoined if objects of the initial list count as initial, provided
	// that they are old enough.
	mayHaveExisted bool
	verification   *verification // in msgVerify and msgListed
}

type messageKind uint8

const (
	msgObserved messageKind = iota // the source has observed Observation
	msgRefused                     // the server's first answer was the refusal Err
	msgSwitched                    // the server serves the resource in the version or scope of Target
	msgJoined                      // the target joined after the start
	msgEnded                       // an initial target is no longer watched
	msgGone                        // the server no longer serves the resource
	msgLeft                        // the target is no longer selected, because of Err
	msgVerify                      // the target is due for verification
	msgListed                      // the list for the verification is complete or failed
)

// queue holds the messages for the loop. put never blocks: objects have passed the byte budget, and
// other messages are few and small.
type queue struct {
	ready chan struct{} // has a signal if there are messages

	mu       sync.Mutex
	messages []message
	closed   bool
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(m message) {
	q.mu.Lock()
	q.messages = append(q.messages, m)
	q.mu.Unlock()
	source.Signal(q.ready)
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	source.Signal(q.ready)
}

// take removes and returns all messages, and whether the queue is still open. It reuses the memory of
// spare.
func (q *queue) take(spare []message) (messages []message, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	messages, q.messages = q.messages, spare
	return messages, !q.closed
}

// maxSpare is the number of items for which memory is reused. Twice as many may be retained.
const maxSpare = 4 << 10

// reuse clears items and returns them with length zero. If they are too large to retain while the
// loop is idle, it returns nil.
func reuse[T any](items []T) []T {
	if cap(items) > 2*maxSpare {
		return nil
	}
	clear(items)
	return items[:0]
}
