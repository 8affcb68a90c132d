package page

import (
	"context"
	"errors"
	"time"

	"dwatch/watcher/event"
)

// holdAfter is how long what stands beside the hub may take for a batch, before viewers
// are told that nothing more comes.
const holdAfter = 3 * time.Second

// Beside returns a Sink that hands each batch to the hub and to next, at the same time:
// neither waits for the other to begin. As long as next does not return there is no other
// batch: viewers are told, since what they see gets old.
func (h *Hub) Beside(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		seen := make(chan error, 1)
		go func() { seen <- h.Deliver(ctx, batch) }()
		err := h.timed(func() error { return next.Deliver(ctx, batch) })
		return errors.Join(err, <-seen)
	})
}

// timed tells viewers if deliver takes long, and when it has returned.
func (h *Hub) timed(deliver func() error) error {
	returned := false // under the lock, as the timer may be late
	late := time.AfterFunc(holdAfter, func() {
		h.mu.Lock()
		if !returned {
			h.hold(true)
		}
		h.mu.Unlock()
		h.wake()
	})
	err := deliver()
	if late.Stop() {
		return err
	}
	h.mu.Lock()
	returned = true
	if h.targets.held {
		h.hold(false)
	}
	h.mu.Unlock()
	h.wake()
	return err
}

// hold notes that nothing more is read from the server, or that it goes on.
func (h *Hub) hold(held bool) {
	now := time.Now()
	h.targets.held = held
	h.targets.update(now)
	m := watchMessage{
		Type: "watch", Seq: h.log.next(), Time: millis(now), Feed: true,
		Event: "HELD", Watch: h.targets.watch(),
		Text: "the output is not taken: no more is read from the server until it is",
	}
	if !held {
		m.Event, m.Text = "RELEASED", "the output is taken again: what waited comes now"
	}
	h.log.add(&entry{seq: m.Seq, kind: m.Type, head: encode(m), feed: true})
}
