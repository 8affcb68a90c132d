package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dwatch/watcher/object/change"
	"dwatch/watcher/object/expression"
	"dwatch/watcher/until"
)

// Condition is an expression and the flag that it was given with. The zero value means no condition.
type Condition struct {
	Flag, Text string
	*expression.Expression
	// Fields are the fields that the user wrote, to find misspelled ones. A word such as ready has none, as some
	// objects lack the fields that it reads.
	Fields []change.FieldPath
}

func (c Condition) IsSet() bool { return c.Expression != nil }

// String returns the condition as it was given, such as "--until ready".
func (c Condition) String() string { return "--" + c.Flag + " " + c.Text }

func compile(flag, text string) (Condition, error) {
	x, err := expression.Compile(text)
	if err != nil {
		return Condition{}, fmt.Errorf("invalid --%s: %w", flag, err)
	}
	c := Condition{Flag: flag, Text: text, Expression: x}
	if !slices.Contains(expression.Presets(), strings.TrimSpace(text)) {
		c.Fields = x.FieldPaths()
	}
	return c, nil
}

func condition(f *pflag.FlagSet, to *Condition, name, usage string) {
	f.String(name, "", usage)
	offers(f, name, slices.Concat(expression.Presets(), expression.Completions())...)
	takes(f, name, func(text string) (err error) {
		*to, err = compile(name, text)
		return err
	})
}

// Where adds --where. Events must match all of *to.
func Where(to *[]Condition) Adder {
	return func(f *pflag.FlagSet) {
		f.StringArray("where", nil, "Include only events that match `EXPR`; a CEL expression or a word, e.g. \"changed('spec.replicas')\", restarted or \"object.status.phase == 'Failed'\" (repeatable: all must match); see docs/reference/expressions.md")
		offers(f, "where", slices.Concat(expression.Presets(), expression.Completions())...)
		takes(f, "where", func(text string) error {
			c, err := compile("where", text)
			*to = append(*to, c)
			return err
		})
	}
}

// ListWhere adds the flag for conditions that the objects of a list must match.
func ListWhere(to *[]Condition) Adder {
	return func(f *pflag.FlagSet) {
		Where(to)(f)
		f.Lookup("where").Usage = "List only objects that match `EXPR`, a CEL expression or a word, e.g. failed, \"!ready(object)\" or \"object.spec.replicas > 3\" (repeatable: all must match); see docs/reference/expressions.md"
		describeBriefly(f, "where", "List only objects that match `EXPR`, e.g. failed")
		offers(f, "where", slices.Concat(expression.StatePresets(), expression.StateCompletions())...)
	}
}

// LiveWhere adds --where for the live table, which shows the objects whose last event matches all of *to.
func LiveWhere(to *[]Condition) Adder {
	return func(f *pflag.FlagSet) {
		Where(to)(f)
		f.Lookup("where").Usage = "Show only objects whose last event matches `EXPR`, a CEL expression or a word, e.g. failed or \"object.spec.replicas > 3\" (repeatable: all must match); see docs/reference/expressions.md"
	}
}

// Timeout adds --timeout. then continues its help text and says how the run ends. Zero means no limit.
func Timeout(to *time.Duration, then string) Adder {
	return func(f *pflag.FlagSet) {
		f.DurationVar(to, "timeout", 0, "End after `DURATION`, e.g. 10m, "+then)
		describeBriefly(f, "timeout", "End after `DURATION`, e.g. 10m")
		takes(f, "timeout", func(text string) error {
			if *to < 0 {
				return fmt.Errorf("invalid --timeout %s: it takes a positive duration such as 30s, 5m or 1h", text)
			}
			return nil
		})
	}
}

// StopConditions holds the flags that end a run.
type StopConditions struct {
	Until, FailIf Condition
	// Quantifier says how many objects must match Until. If empty, all existing objects must.
	Quantifier until.Quantifier
	Count      int           // number of events; 0 means no limit
	Timeout    time.Duration // 0 means no limit
	Logs       Logs
}

// Logs says how many log lines of a failed container are printed. The zero value means none.
type Logs struct {
	Lines    int
	Explicit bool // --logs is given, so Lines is not the default
}

// maxLogs is the largest value of --logs.
const maxLogs = 1000

func (l *Logs) addTo(f *pflag.FlagSet, byDefault int, usage string) {
	f.IntVar(&l.Lines, "logs", byDefault, usage)
	describeBriefly(f, "logs", "After a failure, print the last `N` log lines")
	takes(f, "logs", func(text string) error {
		l.Explicit = true
		if l.Lines < 0 || l.Lines > maxLogs {
			return fmt.Errorf("invalid --logs %s: it takes a number of lines, 0 to %d", text, maxLogs)
		}
		return nil
	})
}

// HasConditions reports whether a condition can end the run.
func (e *StopConditions) HasConditions() bool { return e.Until.IsSet() || e.FailIf.IsSet() }

func (e *StopConditions) AllConditions() []Condition {
	return slices.DeleteFunc([]Condition{e.Until, e.FailIf}, func(c Condition) bool { return !c.IsSet() })
}

// AddTo adds all flags of e except --count.
func (e *StopConditions) AddTo(f *pflag.FlagSet) {
	condition(f, &e.Until, "until", "End with exit code 0 when `EXPR` is true, e.g. ready; a CEL expression or one of the words "+strings.Join(expression.Presets(), ", "))
	condition(f, &e.FailIf, "fail-if", "End with exit code 3 when `EXPR`, as with --until, is true for any object")
	e.addOf(f, "How many objects must match --until: `WHICH` is all (at the same time), any (one object) or each (at some time)")
	Timeout(&e.Timeout, "with exit code 0, or 124 if the awaited condition is not met")(f)
	e.Logs.addTo(f, 0, "When --until or --fail-if ends the run with an error, print the last `N` lines of the failed container; see docs/reference/reasons.md")
}

func (e *StopConditions) addOf(f *pflag.FlagSet, usage string) {
	f.String("until-for", string(until.All), usage)
	describeBriefly(f, "until-for", "How many objects must match: `WHICH` is all, any or each")
	offers(f, "until-for", until.Quantifiers...)
	takes(f, "until-for", func(text string) (err error) {
		e.Quantifier, err = until.ParseQuantifier(text)
		return invalid("until-for", text, err)
	})
}

// AddCountTo adds --count.
func (e *StopConditions) AddCountTo(f *pflag.FlagSet) {
	f.IntVar(&e.Count, "count", 0, "End with exit code 0 after `N` events")
	takes(f, "count", func(text string) error {
		if e.Count < 1 {
			return fmt.Errorf("invalid --count %s: it takes a number of events, at least 1", text)
		}
		return nil
	})
}

// Check returns an error if flags cannot be combined. hasState is whether --state is given.
func (e *StopConditions) Check(hasState bool) error {
	switch {
	case e.Quantifier != "" && !e.Until.IsSet():
		return errors.New("--until-for says how many objects must match --until: it needs --until")
	case e.Logs.Lines > 0 && !e.HasConditions():
		return errors.New("--logs is for runs with --until or --fail-if: it needs one of them")
	case e.HasConditions() && hasState:
		return errors.New("--until and --fail-if need all existing objects, but --state leaves out objects that were printed before: they cannot be combined")
	case e.HasConditions() && e.Count > 0:
		return errors.New("--count ends the run with exit code 0 whatever the events are: it cannot be combined with --until or --fail-if")
	}
	return nil
}
