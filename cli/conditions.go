package cli

import (
	"context"
	"errors"
	"fmt"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/watcher/event"
)

// ending is what ends a run.
type ending struct{ flags.StopConditions }

// isLate reports whether ctx, that of a run with --count, ended with --timeout.
func (e *ending) isLate(ctx context.Context) bool {
	return e.Count > 0 && errors.Is(context.Cause(ctx), errTimeout)
}

// tooFew is the end of a run that isLate, and far says how far it came.
func (e *ending) tooFew(far string) error {
	return fail.WithExitCode(fail.ExitTimeout, fmt.Errorf("--timeout %s passed, and --count %d is not reached: %s", e.Timeout, e.Count, far))
}

// undecided is the exit code of a run that ended, with err, before what it waits for held,
// and what to say of that.
func (e *ending) undecided(ctx context.Context, err error) (code int, what string) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout): // a reader that went after that did not end it
		return fail.ExitTimeout, fmt.Sprintf("--timeout %s passed, and %s does not hold", e.Timeout, e.Until)
	case isReaderGone(err), errors.Is(cause, errReaderGone):
		return fail.ExitFailed, fmt.Sprintf("the reader closed the pipe before %s held", e.Until)
	default:
		return fail.ExitFailed, fmt.Sprintf("interrupted before %s held", e.Until)
	}
}

// unanswered returns what err means for a run that never got so far as to watch, and that
// something was to end: its end is no success.
func (e *ending) unanswered(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil || isLoss(err) || fail.HasExitCode(err):
		return err
	case e.isLate(ctx):
		return e.tooFew("the server had not answered")
	case !e.Until.IsSet():
		return err
	}
	code, what := e.undecided(ctx, err)
	return fail.WithExitCode(code, errors.New(what+": the server had not answered"))
}

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
			if !batch[i].Type.IsStatus() {
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
