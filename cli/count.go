package cli

import (
	"context"
	"errors"
	"fmt"

	"dwatch/cli/fail"
	"dwatch/output/changes"
	"dwatch/watcher/event"
)

// errEnough ends a run with --count.
var errEnough = errors.New("as many events as --count asks for")

// counted returns a Sink before next that counts the events that are printed: all, or
// those that a view shows.
func counted(next event.Sink) (_ event.Sink, printed func() int) {
	if v, ok := next.(*changes.View); ok {
		return v, v.Shown
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

// isLate reports whether ctx, that of a run with --count, ended with --timeout.
func (j *job) isLate(ctx context.Context) bool {
	return j.conditions.count > 0 && errors.Is(context.Cause(ctx), errTimeout)
}

// tooFew is the end of a run that isLate, and far says how far it came.
func (j *job) tooFew(far string) error {
	return fail.Code(fail.ExitTimeout, fmt.Errorf("--timeout %s passed, and --count %d is not reached: %s", j.timeout, j.conditions.count, far))
}
