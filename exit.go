package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/mapper"
)

// Exit codes. They are part of the command line's contract.
const (
	exitOK     = 0 // ended as asked
	exitFailed = 1 // could not go on
	exitUsage  = 2 // wrong usage
)

// usageError is a mistake in the command line or in the kubeconfig.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errInterrupted: half a List would look like a whole one, and no List at all
// like a success, if the exit code did not tell.
var errInterrupted = errors.New("interrupted before the output was complete: nothing was printed")

// errTimeout is the end that --timeout asks for. It is an error only for what
// was not done by then.
var errTimeout = errors.New("--timeout passed before the server had answered: nothing was printed")

// ended is what err means once ctx, the one that signals and the reader of the
// output end, may have ended. After that any error is only how some request
// noticed it (a credential plugin, for one, dies of the same Ctrl-C), except
// one of the output itself or of the state: that loses what was received.
func ended(ctx context.Context, err error, list bool) error {
	var lost writeError
	var forgotten stateError
	switch {
	case ctx.Err() == nil, err == nil, errors.As(err, &lost), errors.As(err, &forgotten):
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

// exitCode is the code that err ends dwatch with.
func exitCode(err error) int {
	var usage usageError
	var unknown *mapper.UnknownError
	var unwatchable *mapper.UnwatchableError
	var asked serverError
	switch {
	case err == nil, isReaderGone(err):
		return exitOK
	case errors.As(err, &usage), errors.As(err, &unknown), errors.As(err, &unwatchable):
		return exitUsage
	case errors.As(err, &asked):
		// What dwatch asks first depends on nothing that was typed but the address.
		return exitFailed
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		// The server does not know a field of the selector, or a name's form.
		return exitUsage
	default:
		return exitFailed
	}
}
