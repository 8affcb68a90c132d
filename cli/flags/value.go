package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// filled is the value of a flag that takes no empty one: a variable of a shell that
// is not set must not stand for the default.
type filled struct{ pflag.Value }

func (v filled) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it must not be empty")
	}
	return v.Value.Set(text)
}

// single is the value of a flag that is given once: of two values the last one
// would win in silence. The same value twice does no harm.
type single struct {
	pflag.Value
	flag  string
	given *string // nil: not yet
}

func (v *single) Set(text string) error {
	if v.given != nil && *v.given != text {
		return &twiceError{v.flag, *v.given, text}
	}
	v.given = &text
	return v.Value.Set(text)
}

// takeOnce makes each flag that takes one value refuse a second one.
func takeOnce(f *pflag.FlagSet) {
	f.VisitAll(func(flag *pflag.Flag) {
		switch flag.Value.Type() {
		case "string", "int", "float64", "duration":
			flag.Value = &single{Value: flag.Value, flag: flag.Name}
			if flag.DefValue == "0s" {
				flag.DefValue = "0" // or help would show it
			}
		}
	})
}

// twiceError says that a flag which takes one value was given two.
type twiceError struct{ flag, first, second string }

func (e *twiceError) Error() string {
	if slices.Contains(secretFlags, e.flag) {
		return fmt.Sprintf("--%s is given twice, with two values", e.flag)
	}
	return fmt.Sprintf("--%s is given twice: %s and %s", e.flag, e.first, e.second)
}

// secretFlags have values that must not be repeated: an address may hold a password.
var secretFlags = []string{"token", "password", "server", "proxy-url", "to"}

// Explain says in one line what is wrong with a flag of a command.
func Explain(err error, command string) error {
	if twice, ok := errors.AsType[*twiceError](err); ok {
		return twice
	}
	// pflag's errors may go on with usage.
	if first, _, more := strings.Cut(err.Error(), "\n"); more {
		err = errors.New(first)
	}
	return fmt.Errorf("%w; see '%s --help'", err, command)
}
