package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dwatch/watcher/object/expression"
	"dwatch/watcher/until"
)

// Condition is an expression, and how it was written. The zero value is none.
type Condition struct {
	Flag, Text string
	*expression.Expression
}

// Is reports whether there is one.
func (c Condition) Is() bool { return c.Expression != nil }

// String is the condition as it was given: --until ready.
func (c Condition) String() string { return "--" + c.Flag + " " + c.Text }

func compile(flag, text string) (Condition, error) {
	x, err := expression.Compile(text)
	if err != nil {
		return Condition{}, fmt.Errorf("invalid --%s: %w", flag, err)
	}
	return Condition{flag, text, x}, nil
}

// Where says of which events something holds.
type Where struct{ texts []string }

// AddTo adds the flag to f.
func (w *Where) AddTo(f *pflag.FlagSet) {
	f.StringArrayVar(&w.texts, "where", nil, "Take only events of which `EXPR` holds, in CEL, e.g. \"changed('spec.replicas')\" or \"object.status.phase == 'Failed'\" (repeatable: all must hold); see docs/expressions.md")
}

// Parse returns what has to hold, all of it.
func (w *Where) Parse() (all []Condition, err error) {
	for _, text := range w.texts {
		c, err := compile("where", text)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Timeout ends a run after a time.
type Timeout struct{ Duration time.Duration }

// AddTo adds the flag to f.
func (t *Timeout) AddTo(f *pflag.FlagSet) {
	f.DurationVar(&t.Duration, "timeout", 0, "End after this `DURATION`, e.g. 10m, with exit code 0, or 124 if what is waited for did not come by then")
}

// Check finds what makes no sense.
func (t *Timeout) Check() error {
	if t.Duration < 0 {
		return fmt.Errorf("invalid --timeout %s: it takes a positive duration such as 30s, 5m or 1h", t.Duration)
	}
	return nil
}

// Ending says what ends a run.
type Ending struct {
	Until, FailIf Condition
	// Of says of how many objects Until has to hold.
	Of      until.Quantifier
	Count   int           // of events; 0: no end
	Timeout time.Duration // 0: none
}

// Conditions reports whether a condition ends the run.
func (e *Ending) Conditions() bool { return e.Until.Is() || e.FailIf.Is() }

// All are the conditions that there are.
func (e *Ending) All() []Condition {
	return slices.DeleteFunc([]Condition{e.Until, e.FailIf}, func(c Condition) bool { return !c.Is() })
}

// Until are the flags for conditions that end a run.
type Until struct {
	Timeout
	until, failIf, of string
	flags             *pflag.FlagSet
}

// AddTo adds the flags to f.
func (u *Until) AddTo(f *pflag.FlagSet) {
	u.flags = f
	f.StringVar(&u.until, "until", "", "End with exit code 0 when `EXPR`, in CEL, holds: or one of "+strings.Join(expression.Presets(), ", "))
	f.StringVar(&u.failIf, "fail-if", "", "End with exit code 3 when `EXPR`, as with --until, holds for any object")
	f.StringVar(&u.of, "until-for", string(until.All), "Of how many objects --until has to hold: `WHICH` is all that exist, any one, or each at some time")
	u.Timeout.AddTo(f)
}

// Parse returns what ends the run.
func (u *Until) Parse() (r Ending, err error) {
	r.Timeout = u.Duration
	if u.flags.Changed("until") {
		if r.Until, err = compile("until", u.until); err != nil {
			return r, err
		}
	}
	if u.flags.Changed("fail-if") {
		if r.FailIf, err = compile("fail-if", u.failIf); err != nil {
			return r, err
		}
	}
	if r.Of, err = until.ParseQuantifier(u.of); err != nil {
		return r, fmt.Errorf("invalid --until-for %q: %w", u.of, err)
	}
	if u.flags.Changed("until-for") && !r.Until.Is() {
		return r, errors.New("--until-for says of how many objects --until has to hold: it needs that")
	}
	return r, u.Check()
}

// Ends are the flags for what ends a run of which events come out.
type Ends struct {
	Until
	count int
}

// AddTo adds the flags to f.
func (e *Ends) AddTo(f *pflag.FlagSet) {
	e.Until.AddTo(f)
	f.IntVar(&e.count, "count", 0, "End with exit code 0 after `N` events")
}

// Parse returns what ends the run. With a state file nothing is known of what was printed
// before.
func (e *Ends) Parse(hasState bool) (Ending, error) {
	r, err := e.Until.Parse()
	r.Count = e.count
	switch {
	case err != nil:
	case r.Conditions() && hasState:
		err = errors.New("--until and --fail-if look at all that exists, and --state leaves out what was printed before: they do not go together")
	case r.Conditions() && e.flags.Changed("count"):
		err = errors.New("--count ends with exit code 0 whatever holds: it does not go with --until and --fail-if")
	case e.count < 0 || e.flags.Changed("count") && e.count == 0:
		err = fmt.Errorf("invalid --count %d: it takes a number of events, at least 1", e.count)
	}
	return r, err
}
