package plan

import (
	"errors"
	"strings"

	"dwatch/mapper"
)

// UsageError says what is wrong with the command line, where that shows only at a
// server.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

var errNothingLeft = errors.New("nothing is left to watch: --exclude names all of it, or it is not in namespaces and needs -A")

// isUnknown: the server does not have what a name means.
func isUnknown(err error) bool {
	_, ok := errors.AsType[*mapper.UnknownError](err)
	return ok
}

// isAbsent: the server does not have what a name means, or not to be watched.
func isAbsent(err error) bool {
	_, ok := errors.AsType[*mapper.UnwatchableError](err)
	return ok || isUnknown(err)
}

// suggestion is what err says that may have been meant.
func suggestion(err error) string {
	unknown, ok := errors.AsType[*mapper.UnknownError](err)
	if !ok || len(unknown.Suggestions) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(unknown.Suggestions, " or ") + "?)"
}
