package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

// filled wraps the value of a flag and refuses empty values: an unset shell variable must not mean the default.
type filled struct{ pflag.Value }

func (v filled) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it must not be empty")
	}
	return v.Value.Set(text)
}

// taken wraps the value of a flag and passes each value to take, which parses or validates it.
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

// single wraps the value of a flag and refuses a second, different value, as pflag would silently use the last one.
type single struct {
	pflag.Value
	flag  string
	given *string // the value, or nil if the flag is not given yet
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

// valueForms maps types of flags to descriptions of their values.
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

// secretFlags lists flags whose values must not appear in errors. A URL may contain a password.
var secretFlags = []string{"token", "password", "server", "proxy-url", "to", "from"}

// wrap replaces the values of the named flags by what around returns.
func wrap(f *pflag.FlagSet, around func(pflag.Value) pflag.Value, names ...string) {
	for _, name := range names {
		flag := f.Lookup(name)
		flag.Value = around(flag.Value)
		flag.DefValue = strings.Trim(flag.DefValue, "[]") // else help would show the [] of an empty list
	}
}

// notEmpty makes flags refuse an empty value.
func notEmpty(f *pflag.FlagSet, names ...string) {
	wrap(f, func(v pflag.Value) pflag.Value { return filled{v} }, names...)
}

// takes passes each value of the named flag to take. Errors of take must name the flag.
func takes(f *pflag.FlagSet, name string, take func(text string) error) {
	wrap(f, func(v pflag.Value) pflag.Value { return taken{v, take} }, name)
}

// offered is the annotation with the values of a flag for shell completion.
const offered = "offered"

func offers(f *pflag.FlagSet, name string, values ...string) {
	if err := f.SetAnnotation(name, offered, values); err != nil {
		panic(err) // no flag has that name
	}
}

// CompletionValues returns values of a flag for shell completion, or nil. The flag may accept others.
func CompletionValues(f *pflag.Flag) []string { return f.Annotations[offered] }

// brief is the annotation with the description of a flag for short help.
const brief = "brief"

// describeBriefly sets the description for short help. text contains the name of the value in backquotes, as the full description.
func describeBriefly(f *pflag.FlagSet, name, text string) {
	if err := f.SetAnnotation(name, brief, []string{text}); err != nil {
		panic(err) // no flag has that name
	}
}

// Brief returns a copy of a flag with the description for short help: by default the first clause of its full description.
func Brief(f *pflag.Flag) *pflag.Flag {
	short := *f
	if text := f.Annotations[brief]; text != nil {
		short.Usage = text[0]
		return &short
	}
	for _, rest := range []string{";", " (repeatable", ", see docs/"} {
		short.Usage, _, _ = strings.Cut(short.Usage, rest)
	}
	return &short
}

// invalid adds the flag and its value to err. It returns nil if err is nil.
func invalid(flag, text string, err error) error {
	if err != nil {
		err = fmt.Errorf("invalid --%s %q: %w", flag, text, err)
	}
	return err
}

// takeOnce makes each flag with a single value refuse a second, different one.
func takeOnce(f *pflag.FlagSet) {
	f.VisitAll(func(flag *pflag.Flag) {
		switch flag.Value.Type() {
		case "string", "int", "float64", "duration":
			flag.Value = &single{Value: flag.Value, flag: flag.Name}
			if flag.DefValue == "0s" {
				flag.DefValue = "0" // pflag's help leaves out a default of 0
			}
		}
	})
}

// wrongError is an error that already names the flag, so ExplainParseError drops the text that pflag adds.
type wrongError struct{ error }

// ExplainParseError turns an error of pflag into one line. help is the command line that prints the flags, to which
// errors about unknown flags refer.
func ExplainParseError(err error, help string) error {
	if wrong, ok := errors.AsType[*wrongError](err); ok {
		return wrong.error
	}
	// In pflag's errors, usage may follow the first line.
	if first, _, more := strings.Cut(err.Error(), "\n"); more {
		err = errors.New(first)
	}
	return fmt.Errorf("%w; see '%s'", err, help)
}

// Group is a set of flags with a heading in help.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// Adder adds flags to a flag set.
type Adder = func(*pflag.FlagSet)

// NewGroup returns the flags that the functions of define add, in that order.
func NewGroup(title string, define ...Adder) Group {
	f := pflag.NewFlagSet(title, pflag.ContinueOnError)
	f.SortFlags = false
	for _, d := range define {
		d(f)
	}
	takeOnce(f)
	return Group{title, f}
}

// given returns the first of names that is given in f, or "".
func given(f *pflag.FlagSet, names ...string) string {
	if i := slices.IndexFunc(names, f.Changed); i >= 0 {
		return names[i]
	}
	return ""
}

// Limits of sizes of files: a smaller file would have no room for data, and arithmetic with a larger size could overflow.
const minKept, maxKept = 1 << 20, 1 << 50

// parseSize parses a number of bytes, such as 512Mi, from least to most.
func parseSize(text string, least, most int64) (bytes int64, ok bool) {
	size, err := resource.ParseQuantity(text)
	bytes = size.Value()
	return bytes, err == nil && least <= bytes && bytes <= most
}
