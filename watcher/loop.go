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

// loop is what one Run reports: all that its targets note comes here, and nothing else calls the
// sink. It owns the targets' ledgers, so that they need no lock.
type loop struct {
	sink   event.Sink
	queue  *queue
	gate   *source.ByteBudget
	cancel context.CancelCauseFunc
	links  *event.WatchStates // of what was delivered
	// recheck renews all watches.
	recheck func()

	targets int       // how many there are of the start
	served  bool      // a target is, or was
	refused []*target // whose refusal is not reported yet

	batch  []event.Event
	held   int64 // what the batch holds of the gate
	failed error
}

// startError ends Run because a target could not start.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

// maxBatch is how many events are delivered at once: enough for large writes and few commits.
const maxBatch = maxSpare

// run delivers until the queue is closed and empty. After an error of the sink, which it returns,
// nothing is delivered, but what waits is let go.
func (l *loop) run(ctx context.Context, beats <-chan time.Time, recheck <-chan struct{}) error {
	var notes []note
	for open := true; open; {
		beat := false
		select {
		case <-l.queue.ready:
		case <-recheck:
			l.recheck()
		case <-beats:
			beat = true
		}
		notes, open = l.queue.take(notes)
		for i := range notes {
			l.take(&notes[i])
			if len(l.batch) >= maxBatch {
				l.deliver(ctx)
			}
		}
		l.deliver(ctx)
		if beat { // after all that was received before it
			l.batch = append(l.batch, l.heartbeat())
			l.deliver(ctx)
		}
		notes = emptied(notes)
	}
	return l.failed
}

// heartbeat says how all targets are, as far as the reader knows.
func (l *loop) heartbeat() event.Event {
	return event.Event{
		Type:  event.Heartbeat,
		Count: l.links.Present(), Connected: l.links.Connected(), LastEvent: l.links.LastEvent,
	}
}

func (l *loop) take(n *note) {
	t := n.of
	switch n.what {
	case observed:
		served := t.progress.isServed()
		l.batch = t.observe(l.batch, n.Observation)
		if !served && t.progress.isServed() {
			l.served = true
			l.settle(t)
		}
	case refused:
		t.progress.reject(lossOf(n.Err))
		t.refusal = n.Err
		l.refused = append(l.refused, t)
		l.settle(nil)
	case switched:
		t.switchTo(n.Target)
	case joined:
		l.batch = t.join(l.batch, n)
	case dropped:
		l.batch = t.leave(l.batch, n.Err)
	case verifying:
		t.beginVerification(n.verification)
	case compared:
		t.compare(n.verification)
	case left:
		l.targets--
		l.settle(t)
	case gone:
		l.batch = t.vanish(l.batch)
	}
	t.note()
	l.held += n.ReservedBytes
}

// settle decides what refusals mean that came before their targets were served: when all are
// refused, Run ends, and when one is served, the refusals of others are reported. One target, if
// not nil, is no longer refused.
func (l *loop) settle(other *target) {
	l.refused = slices.DeleteFunc(l.refused, func(t *target) bool { return t == other })
	switch {
	case len(l.refused) == 0:
	case l.served:
		for _, t := range l.refused {
			l.batch = t.reportRefusal(l.batch)
		}
		l.refused = nil
	case len(l.refused) == l.targets:
		slices.SortFunc(l.refused, func(a, b *target) int { return cmp.Compare(a.index, b.index) })
		var errs []error
		for _, t := range l.refused {
			errs = append(errs, t.refusal)
		}
		l.cancel(&startError{errors.Join(errs...)})
	}
}

// deliver delivers the batch, which is of now: marks, too, or one would be older than what it comes after.
func (l *loop) deliver(ctx context.Context) {
	if len(l.batch) > 0 && l.failed == nil {
		now := time.Now()
		for i := range l.batch {
			e := &l.batch[i]
			if e.Time.IsZero() {
				e.Time = now
			}
			l.links.Observe(e)
		}
		if err := l.sink.Deliver(ctx, l.batch); err != nil {
			l.failed = err
			l.cancel(err)
		}
	}
	l.batch = emptied(l.batch)
	l.gate.Release(l.held)
	l.held = 0
}

// note is what the loop gets to know of one target: what its source has observed, or what has
// become of it.
type note struct {
	of   *target
	what subject
	source.Observation
	narrower []*target  // whose place the target takes, of joined
	mark     event.Type // of joined: why
	// verification is of verifying and compared.
	verification *verification
	existing     bool // of joined: what the first sync names existed at the start, if it is old enough
}

type subject uint8

const (
	observed  subject = iota // by the source
	refused                  // the server's first answer is no, as Err says
	switched                 // to another version of the resource, or another scope, as Target says
	joined                   // after the start
	left                     // it is watched no more, of one that was there at the start
	gone                     // the server no longer has the resource
	verifying                // it is to be compared with what the server has
	compared                 // the server has named what it has, or not
	dropped                  // it is not asked for any more, as Err says
)

// queue is what waits for the loop. put never blocks: what comes with an object has passed the
// gate, and the rest is little.
type queue struct {
	ready chan struct{} // holds one when there is something to take

	mu      sync.Mutex
	waiting []note
	closed  bool
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(n note) {
	q.mu.Lock()
	q.waiting = append(q.waiting, n)
	q.mu.Unlock()
	source.Signal(q.ready)
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	source.Signal(q.ready)
}

// take returns all that waits, and whether anything may come after it. The memory of spare is used
// again.
func (q *queue) take(spare []note) (waiting []note, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, q.waiting = q.waiting, spare
	return waiting, !q.closed
}

// maxSpare is how many items' memory, or up to twice that, is used again.
const maxSpare = 4 << 10

// emptied returns items without what they hold, to be used again; nil if they are too many to be
// kept while nothing comes.
func emptied[T any](items []T) []T {
	if cap(items) > 2*maxSpare {
		return nil
	}
	clear(items)
	return items[:0]
}
