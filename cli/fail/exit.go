package fail

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/mapper"
)

// Exit codes. They are part of the command line's contract.
const (
	ExitOK     = 0 // ended as asked
	ExitFailed = 1 // could not go on
	// ExitDifferent is the result of dwatch diff --exit-code if something differs. It is the number that git diff and
	// kubectl diff use. With this flag, failures end with ExitUsage instead of ExitFailed.
	ExitDifferent = 1
	ExitUsage     = 2 // wrong usage
	ExitFailIf    = 3 // --fail-if holds
	// ExitUnknown: of the past that was asked for not all is known.
	ExitIncomplete = 4
	// ExitTimeout is that of timeout(1): --timeout passed before --until held, or --count
	// was reached.
	ExitTimeout = 124
)

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

func (e coded) Unwrap() error { return e.error }

// Code marks err as the end with an exit code.
func WithExitCode(code int, err error) error { return coded{err, code} }

// IsCoded reports whether err was marked by Code: it is how a run has come to its end.
func HasExitCode(err error) bool { return Is[coded](err) }

// Is reports whether err wraps an E.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

type usageError struct{ error }

// Usage marks err as a mistake in the command line or in the kubeconfig.
func Usage(err error) error { return usageError{err} }

func (e usageError) Unwrap() error { return e.error }

// ExitCode is the code that err ends dwatch with.
func ExitCode(err error) int {
	end, ended := errors.AsType[coded](err)
	switch {
	case err == nil:
		return ExitOK
	case ended:
		return end.code
	case Is[usageError](err), mapper.IsNotWatchable(err):
		return ExitUsage
	case Is[serverError](err):
		// What dwatch asks first depends on nothing that was typed but the address.
		return ExitFailed
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		// The server does not know a field of the selector, or a name's form.
		return ExitUsage
	default:
		return ExitFailed
	}
}
