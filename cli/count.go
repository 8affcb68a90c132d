package cli

import (
	"context"
	"dwatch/watcher/event"
	"errors"
)

// errEnough ends a run with --count.
var errEnough = errors.New("as many events as --count asks for")

// counted returns a Sink before next that counts the events that are printed: all, or
// those that a view shows.
func counted(next event.Sink) (_ event.Sink, printed func() int) {
	if v, ok := next.(viewer); ok {
		return next, v.Shown
	}
	n := 0
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if err := next.Deliver(ctx, batch); err != nil {
			return err
		}
		for i := range batch {
			if !batch[i].Type.IsMark() {
				n++
			}
		}
		return nil
	}), func() int { return n }
}

// upTo returns a Sink before next that ends the run after so many events that were
// printed. It stands before --state, to which what comes after has not been.
func upTo(limit int, printed func() int, next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for len(batch) > 0 {
			n := min(limit-printed(), len(batch)) // each is printed at most once
			if err := next.Deliver(ctx, batch[:n]); err != nil {
				return err
			}
			if printed() >= limit {
				return errEnough
			}
			batch = batch[n:]
		}
		return nil
	})
}
