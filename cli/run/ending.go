package run

import (
	"context"
	"errors"
	"fmt"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/watcher/event"
)

// isCountLate reports whether --timeout ended a run with --count.
func isCountLate(ctx context.Context, e *flags.StopConditions) bool {
	return e.Count > 0 && errors.Is(context.Cause(ctx), ErrTimeout)
}

// countNotReached is the error of such a run. progress says how far it came.
func countNotReached(e *flags.StopConditions, progress string) error {
	return fail.WithExitCode(fail.ExitTimeout, fmt.Errorf("--timeout %s passed, and --count %d is not reached: %s", e.Timeout, e.Count, progress))
}

// undecided returns the exit code and the message of a run that ended with err before --until held.
func undecided(ctx context.Context, e *flags.StopConditions, err error) (code int, message string) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrTimeout): // even if the reader closed the pipe later
		return fail.ExitTimeout, fmt.Sprintf("--timeout %s passed, and %s does not hold", e.Timeout, e.Until)
	case console.IsReaderGone(err), errors.Is(cause, console.ErrReaderGone):
		return fail.ExitFailed, fmt.Sprintf("the reader closed the pipe before %s held", e.Until)
	default:
		return fail.ExitFailed, fmt.Sprintf("interrupted before %s held", e.Until)
	}
}

// unanswered returns the error of a run with a condition or a count that ended with err before its watch began.
func unanswered(ctx context.Context, e *flags.StopConditions, err error) error {
	switch {
	case err == nil || ctx.Err() == nil || IsLoss(err) || fail.HasExitCode(err):
		return err
	case isCountLate(ctx, e):
		return countNotReached(e, "the server had not answered")
	case !e.Until.IsSet():
		return err
	}
	code, message := undecided(ctx, e, err)
	return fail.WithExitCode(code, errors.New(message+": the server had not answered"))
}

// CountPrinted returns a Sink before next and the number of events that it has passed on.
func CountPrinted(next event.Sink) (_ event.Sink, printed func() int) {
	n := 0
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if err := next.Deliver(ctx, batch); err != nil {
			return err
		}
		for i := range batch {
			if !batch[i].Type.IsStatus() {
				n++
			}
		}
		return nil
	}), func() int { return n }
}

// countBefore returns a Sink before next that gives each batch to count first, which also counts what next leaves out.
func countBefore(count func([]event.Event) error, next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if err := count(batch); err != nil {
			return err
		}
		return next.Deliver(ctx, batch)
	})
}

// stopAfter returns a Sink before next that ends the run with ErrEnough once limit events are printed. It stands before --state, which
// must not get the events after that.
func stopAfter(limit int, printed func() int, next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for len(batch) > 0 {
			n := min(limit-printed(), len(batch)) // each event is printed at most once
			if err := next.Deliver(ctx, batch[:n]); err != nil {
				return err
			}
			if printed() >= limit {
				return ErrEnough
			}
			batch = batch[n:]
		}
		return nil
	})
}
