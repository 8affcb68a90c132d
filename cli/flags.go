package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/mapper"
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

// flagError says what is wrong with the flags of a command called display.
func flagError(f *pflag.FlagSet, display string, err error) error {
	if twice, ok := errors.AsType[*twiceError](err); ok {
		return twice
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if ok {
		if instead := notOurs(unknown); instead != nil {
			return instead
		}
	}
	if ok && unknown.GetSpecifiedShortnames() == "" {
		if near := mapper.Nearest(unknown.GetSpecifiedName(), flagNames(f)); near != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return fmt.Errorf("%w; see '%s --help'", oneLine(err), display)
}

func flagNames(f *pflag.FlagSet) (names []string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	return names
}

// oneLine keeps the first line of an error: pflag's may go on with usage.
func oneLine(err error) error {
	first, _, more := strings.Cut(err.Error(), "\n")
	if !more {
		return err
	}
	return errors.New(first)
}
