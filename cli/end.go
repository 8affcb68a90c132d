package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

// errInterrupted: half a List would look like a whole one, and no List at all
// like a success, if the exit code did not say so.
var errInterrupted = errors.New("interrupted before the output was complete: nothing was printed")

// errTimeout is the end that --timeout asks for. It is an error only for what was not done by then.
var errTimeout = errors.New("--timeout passed before the server had answered: nothing was printed")

// sinkError is an error of what takes the events, or of --state: what was received is lost.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// blamed is a Sink whose errors can be distinguished from those of requests.
func blamed(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if err := next.Deliver(ctx, batch); err != nil {
			return sinkError{err}
		}
		return nil
	})
}

// ended is what err means once ctx, the one that signals and the reader of the
// output end, may have ended. After that any error is only how some request
// noticed it (a credential plugin, for one, dies of the same Ctrl-C), except
// one of the output itself, of a Sink or of the state: that loses what was received.
func ended(ctx context.Context, err error, list bool) error {
	switch {
	case ctx.Err() == nil, err == nil, isLoss(err), fail.HasExitCode(err):
		return err
	case errors.Is(context.Cause(ctx), errReaderGone):
		return errReaderGone
	case errors.Is(context.Cause(ctx), errTimeout):
		return errTimeout
	case list:
		return errInterrupted
	default:
		return nil
	}
}

// isLoss reports whether an error is of the output, of a Sink or of the state.
func isLoss(err error) bool {
	return fail.Is[writeError](err) || fail.Is[sinkError](err)
}

// joined is what a run ends with that ended with err, with ctx perhaps, and did not
// deliver something; either may be nil.
func joined(ctx context.Context, err, undelivered error) error {
	byContext := ctx.Err() != nil && !isLoss(err) && !fail.HasExitCode(err)
	switch {
	case undelivered == nil:
		return err
	case err == nil, byContext:
		return undelivered
	default:
		return errors.Join(err, undelivered)
	}
}

// errUnread ends a run with --state whose reader has gone. What starts such a run
// again when it fails has to know.
var errUnread = errors.New("the reader closed the pipe: lines that it left unread count as printed, and the next run carries on after them")

// together is how far apart two processes may notice the same Ctrl-C.
const together = 250 * time.Millisecond

// unread is what err means for a run with --state. asked ends when a signal comes,
// ctx also when the reader of the output has gone. Ctrl-C at a terminal ends the
// reader, too, and which of both is noticed first is chance.
func unread(asked, ctx context.Context, err error) error {
	gone := err == nil && errors.Is(context.Cause(ctx), errReaderGone)
	if !gone && !isReaderGone(err) {
		return err
	}
	select {
	case <-asked.Done():
		return nil
	case <-time.After(together):
		return errUnread
	}
}

// sayEnd says on stderr what dwatch ends with, and returns the exit code.
func sayEnd(stderr *stderrLog, err error) int {
	if err == nil || isReaderGone(err) {
		return fail.ExitOK
	}
	if fail.ExitCode(err) == fail.ExitUsage {
		stderr.date(false) // nothing has been done yet
	}
	if !errors.Is(err, errFirstSteps) && !errors.Is(err, errDifferent) {
		prefix := "error: "
		if stderr.isJSON() {
			prefix = "" // its level says that
		}
		for _, line := range fail.Explain(err) {
			fmt.Fprintln(stderr.as(levelError), prefix+line)
		}
	}
	return fail.ExitCode(err)
}
