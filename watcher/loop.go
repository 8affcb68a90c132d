package watcher

import (
	"context"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// loop is what one Run reports: all that its targets note comes here, and nothing
// else calls the sink. It owns the targets' ledgers, so that they need no lock.
type loop struct {
	sink     event.Sink
	queue    *queue
	gate     *source.Gate
	cancel   context.CancelCauseFunc
	starting starting
	// links are those of what was delivered.
	links *event.Links

	batch  []event.Event
	held   int64 // what the batch holds of the gate
	failed error
}

// maxBatch is how many events are delivered at once: enough for large writes, and
// for few commits of who keeps a file of them.
const maxBatch = maxSpare

// run delivers until the queue is closed and empty, and returns the first error of
// the sink. After that nothing is delivered, but what waits is let go.
func (l *loop) run(ctx context.Context, beats <-chan time.Time) error {
	var notes []note
	for open := true; open; {
		select {
		case <-l.queue.ready:
		case <-beats:
			l.batch = append(l.batch, l.heartbeat())
		}
		notes, open = l.queue.take(notes)
		for i := range notes {
			l.take(&notes[i])
			if len(l.batch) >= maxBatch {
				l.deliver(ctx)
			}
		}
		l.deliver(ctx)
		notes = emptied(notes)
	}
	return l.failed
}

// heartbeat says how all targets are, as far as what was delivered says: it never knows more
// than the reader.
func (l *loop) heartbeat() event.Event {
	return event.Event{
		Type: event.Heartbeat, Time: time.Now(),
		Count: l.links.Present(), Connected: l.links.Connected(), LastEvent: l.links.LastEvent,
	}
}

// take adds to the batch what n has to report.
func (l *loop) take(n *note) {
	t := n.of
	switch n.what {
	case observed:
		served := t.progress.isServed()
		l.batch = t.observe(l.batch, n.Observation)
		if !served && t.progress.isServed() {
			l.batch = l.starting.serve(l.batch, t)
		}
	case refused:
		t.progress.reject(lossOf(n.Err))
		l.batch = l.starting.refuse(l.batch, t, n.Err)
	case switched:
		t.switchTo(n.Target)
	case joined:
		l.batch = t.join(l.batch, n.narrower)
	case left:
		l.batch = l.starting.leave(l.batch, t)
	case gone:
		l.batch = t.vanish(l.batch)
	}
	l.held += n.Held
}

// deliver delivers the batch, and makes room for what comes next.
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
	l.gate.Leave(l.held)
	l.held = 0
}
