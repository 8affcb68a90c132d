package fail

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/mapper"
)

// Exit codes. They are part of the command line's contract.
const (
	ExitOK     = 0 // ended as requested
	ExitFailed = 1 // ended because of an error
	// ExitDifferent is the result of dwatch diff --exit-code if something differs. It is the number that git diff and
	// kubectl diff use. With this flag, failures end with ExitUsage instead of ExitFailed.
	ExitDifferent = 1
	ExitUsage     = 2 // a mistake in the command line or the kubeconfig
	ExitFailIf    = 3 // the condition of --fail-if matched
	// ExitIncomplete means that the requested history has gaps.
	ExitIncomplete = 4
	// ExitTimeout means that --timeout passed before the condition of --until matched or --count was reached. It is
	// the exit code of timeout(1).
	ExitTimeout = 124
)

// coded is an error with an exit code.
type coded struct {
	error
	code int
}

func (e coded) Unwrap() error { return e.error }

// WithExitCode wraps err so that dwatch ends with an exit code.
func WithExitCode(code int, err error) error { return coded{err, code} }

// HasExitCode reports whether err was wrapped by WithExitCode.
func HasExitCode(err error) bool { return Is[coded](err) }

// Is reports whether err wraps an E.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

type usageError struct{ error }

// Usage wraps err as a mistake in the command line or the kubeconfig.
func Usage(err error) error { return usageError{err} }

func (e usageError) Unwrap() error { return e.error }

// ExitCode returns the exit code of dwatch for err.
func ExitCode(err error) int {
	withCode, hasCode := errors.AsType[coded](err)
	switch {
	case err == nil:
		return ExitOK
	case hasCode:
		return withCode.code
	case Is[usageError](err), mapper.IsNotWatchable(err):
		return ExitUsage
	case Is[serverError](err):
		// The first requests do not depend on the arguments.
		return ExitFailed
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		// The server does not support a field of the selector, or rejects a name.
		return ExitUsage
	default:
		return ExitFailed
	}
}
