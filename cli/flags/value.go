package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
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

// taken is the value of a flag that is read, or checked, as it is typed.
type taken struct {
	pflag.Value
	take func(text string) error
}

func (v taken) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		return err
	}
	if err := v.take(text); err != nil {
		return &wrongError{err}
	}
	return nil
}

// single is the value of a flag that is given once: of two values the last one
// would win in silence. The same value twice does no harm.
type single struct {
	pflag.Value
	flag  string
	given *string // nil: not yet
}

func (v *single) Set(text string) error {
	switch {
	case v.given == nil || *v.given == text:
		v.given = &text
		return v.set(text)
	case slices.Contains(secretFlags, v.flag):
		return &wrongError{fmt.Errorf("--%s is given twice, with two values", v.flag)}
	}
	return &wrongError{fmt.Errorf("--%s is given twice: %s and %s", v.flag, *v.given, text)}
}

// valueForms says what flags take, by the type of their value.
var valueForms = map[string]string{
	"int":      "it takes a whole number, such as 3",
	"float64":  "it takes a number, such as 0.5",
	"duration": "it takes a duration such as 30s, 5m or 1h",
}

// set replaces parse errors of package strconv and time, which repeat the text and don't say what the flag takes.
func (v *single) set(text string) error {
	err := v.Value.Set(text)
	form := valueForms[v.Value.Type()]
	if _, explained := errors.AsType[*wrongError](err); err == nil || explained || form == "" {
		return err
	}
	return &wrongError{invalid(v.flag, text, errors.New(form))}
}

// secretFlags have values that must not be repeated: an address may hold a password.
var secretFlags = []string{"token", "password", "server", "proxy-url", "to", "from"}

// wrap puts something around the values of flags.
func wrap(f *pflag.FlagSet, around func(pflag.Value) pflag.Value, names ...string) {
	for _, name := range names {
		flag := f.Lookup(name)
		flag.Value = around(flag.Value)
		flag.DefValue = strings.Trim(flag.DefValue, "[]") // or help would show it
	}
}

// notEmpty makes flags refuse an empty value.
func notEmpty(f *pflag.FlagSet, names ...string) {
	wrap(f, func(v pflag.Value) pflag.Value { return filled{v} }, names...)
}

// takes has take read each value of a flag. Its errors name the flag.
func takes(f *pflag.FlagSet, name string, take func(text string) error) {
	wrap(f, func(v pflag.Value) pflag.Value { return taken{v, take} }, name)
}

// offered is the annotation of a flag with values that a shell may complete.
const offered = "offered"

func offers(f *pflag.FlagSet, name string, values ...string) {
	if err := f.SetAnnotation(name, offered, values); err != nil {
		panic(err) // there is no such flag
	}
}

// Offered are values of a flag, of which others may be as good; nil if there is nothing to say.
func CompletionValues(f *pflag.Flag) []string { return f.Annotations[offered] }

// invalid says of an error, if it is one, which value of a flag it is about.
func invalid(flag, text string, err error) error {
	if err != nil {
		err = fmt.Errorf("invalid --%s %q: %w", flag, text, err)
	}
	return err
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

// wrongError is an error that names the flag, and needs nothing of what pflag adds.
type wrongError struct{ error }

// Explain says in one line what is wrong with a flag of a command, of which help prints all.
func ExplainParseError(err error, help string) error {
	if wrong, ok := errors.AsType[*wrongError](err); ok {
		return wrong.error
	}
	// pflag's errors may go on with usage.
	if first, _, more := strings.Cut(err.Error(), "\n"); more {
		err = errors.New(first)
	}
	return fmt.Errorf("%w; see '%s'", err, help)
}

// Group is flags that belong together, under one heading in help.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// Adder adds flags to a set.
type Adder = func(*pflag.FlagSet)

// NewGroup returns the flags that define adds, in that order.
func NewGroup(title string, define ...Adder) Group {
	f := pflag.NewFlagSet(title, pflag.ContinueOnError)
	f.SortFlags = false
	for _, d := range define {
		d(f)
	}
	takeOnce(f)
	return Group{title, f}
}

// given reports which of names is given first; empty if none is.
func given(f *pflag.FlagSet, names ...string) string {
	if i := slices.IndexFunc(names, f.Changed); i >= 0 {
		return names[i]
	}
	return ""
}

// What is kept in a file is at least a MiB, for less holds nothing worth it, and at most so much that sums and multiples of it are
// no other numbers.
const minKept, maxKept = 1 << 20, 1 << 50

// parseSize reads a number of bytes, such as 512Mi, that is neither less than least nor more than most.
func parseSize(text string, least, most int64) (bytes int64, ok bool) {
	size, err := resource.ParseQuantity(text)
	bytes = size.Value()
	return bytes, err == nil && least <= bytes && bytes <= most
}
