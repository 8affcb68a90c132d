package run

import (
	"context"
	"errors"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

// ErrInterrupted ends a list that was not complete. Half a List would look like a whole one, and an empty output like a success.
var ErrInterrupted = errors.New("interrupted before the output was complete: nothing was printed")

// ErrTimeout is the cause of a context that --timeout ends. As an error it means that the run was not complete.
var ErrTimeout = errors.New("--timeout passed before the server had answered: nothing was printed")

// ErrEnough ends a run that has printed as many events as --count asks for, or all of the past with --before.
var ErrEnough = errors.New("as many events as --count asks for")

// LossError is an error of a destination, of stdout, or of a state file: events that were received are lost. It ends a run, while
// an error of a request is retried.
type LossError struct{ Err error }

// Error implements error.
func (e LossError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the destination.
func (e LossError) Unwrap() error { return e.Err }

// IsLoss reports whether err means that received events are lost.
func IsLoss(err error) bool {
	return fail.Is[console.WriteError](err) || fail.Is[LossError](err)
}

// markLoss returns a Sink before next whose errors are LossErrors.
func markLoss(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if err := next.Deliver(ctx, batch); err != nil {
			return LossError{err}
		}
		return nil
	})
}

// AtCluster connects to the only cluster that f selects and calls work, for at most timeout if that is not zero. whole is set if
// half an output is worth nothing, as half a list.
func AtCluster(ctx context.Context, c *console.Console, f *cluster.Flags, timeout time.Duration, whole bool, work func(context.Context, *cluster.Cluster) error) error {
	k, err := f.Connect(c.Connection())
	if err != nil {
		return err
	}
	ctx, cancel := WithTimeout(ctx, timeout)
	defer cancel()
	return EndOf(ctx, work(ctx, k), whole)
}

// WithTimeout returns a context that ends with ErrTimeout after timeout, unless that is zero.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	}
	return context.WithCancel(ctx)
}

// EndOf returns what err means when ctx, which signals and the reader of stdout end, may have ended. After that, every error is only
// how some request noticed it: a credential plugin, for example, dies of the same Ctrl-C. The exception is the loss of events.
func EndOf(ctx context.Context, err error, whole bool) error {
	switch {
	case ctx.Err() == nil, err == nil, IsLoss(err), fail.HasExitCode(err):
		return err
	case errors.Is(context.Cause(ctx), console.ErrReaderGone):
		return console.ErrReaderGone
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return ErrTimeout
	case whole:
		return ErrInterrupted
	default:
		return nil
	}
}

// JoinUndelivered returns what a run ends with that ended with err, perhaps because of ctx, and that did not deliver everything.
// Either error may be nil.
func JoinUndelivered(ctx context.Context, err, undelivered error) error {
	byContext := ctx.Err() != nil && !IsLoss(err) && !fail.HasExitCode(err)
	switch {
	case undelivered == nil:
		return err
	case err == nil, byContext:
		return undelivered
	default:
		return errors.Join(err, undelivered)
	}
}

// errUnread ends a run with --state whose reader has closed the pipe. A supervisor that restarts failed runs has to know.
var errUnread = errors.New("the reader closed the pipe: lines that it left unread count as printed, and the next run continues after them")

// sameSignal is how far apart two processes may notice the same Ctrl-C.
const sameSignal = 250 * time.Millisecond

// ReaderEnd returns what err means for a run with --state. asked ends with a signal, ctx also when the reader closes the pipe. Ctrl-C at
// a terminal ends the reader, too, and either of the two may be noticed first.
func ReaderEnd(asked, ctx context.Context, err error) error {
	gone := err == nil && errors.Is(context.Cause(ctx), console.ErrReaderGone)
	if !gone && !console.IsReaderGone(err) {
		return err
	}
	select {
	case <-asked.Done():
		return nil
	case <-time.After(sameSignal):
		return errUnread
	}
}
