package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/watcher/object/expression"
	"dwatch/watcher/until"
)

// conditionFlags are expressions, and what ends a run, as typed.
type conditionFlags struct {
	where      []string
	until      string
	failIf     string
	quantifier string
	count      int
}

func (o *options) addWhereFlag(f *pflag.FlagSet) {
	f.StringArrayVar(&o.where, "where", nil, "Print only events of which `EXPR` holds, in CEL, e.g. \"changed('spec.replicas')\" or \"object.status.phase == 'Failed'\" (repeatable: all must hold); see docs/expressions.md")
}

func (o *options) addConditionFlags(f *pflag.FlagSet) {
	f.StringVar(&o.until, "until", "", "End with exit code 0 when `EXPR`, in CEL, holds: or one of "+strings.Join(expression.Presets(), ", "))
	f.StringVar(&o.failIf, "fail-if", "", "End with exit code 3 when `EXPR`, as with --until, holds for any object")
	f.StringVar(&o.quantifier, "until-for", string(until.All), "Of how many objects --until has to hold: `WHICH` is all that exist, any one, or each at some time")
	f.IntVar(&o.count, "count", 0, "End with exit code 0 after `N` events")
}

// condition is an expression, and what it was written as.
type condition struct {
	typed string
	*expression.Expression
}

// conditions are those of a request. The zero value has none.
type conditions struct {
	where         []condition
	until, failIf condition
	quantifier    until.Quantifier
	count         int // 0: no end
}

// all are the conditions that there are.
func (c *conditions) all() []condition {
	all := slices.Clip(c.where)
	for _, one := range []condition{c.until, c.failIf} {
		if one.Expression != nil {
			all = append(all, one)
		}
	}
	return all
}

// needs is what any of them looks at.
func (c *conditions) needs() (n expression.Needs) {
	for _, one := range c.all() {
		n = n.Or(one.Needs())
	}
	return n
}

// ends reports whether a condition ends the run.
func (c *conditions) ends() bool { return c.until.Expression != nil || c.failIf.Expression != nil }

func (o *options) parseConditions(r *request) (err error) {
	c := &r.conditions
	for _, text := range o.where {
		one, err := o.compile("where", text)
		if err != nil {
			return err
		}
		c.where = append(c.where, one)
	}
	if c.until, err = o.compile("until", o.until); err != nil {
		return err
	}
	if c.failIf, err = o.compile("fail-if", o.failIf); err != nil {
		return err
	}
	if c.quantifier, err = until.ParseQuantifier(o.quantifier); err != nil {
		return fmt.Errorf("invalid --until-for %q: %w", o.quantifier, err)
	}
	c.count = o.count
	return o.checkConditions()
}

// compile reads an expression; none if the flag is not given.
func (o *options) compile(flag, text string) (condition, error) {
	if !o.given(flag) {
		return condition{}, nil
	}
	x, err := expression.Compile(text)
	if err != nil {
		return condition{}, fmt.Errorf("invalid --%s: %w", flag, err)
	}
	return condition{text, x}, nil
}

// checkConditions finds what makes no sense together.
func (o *options) checkConditions() error {
	for _, name := range []string{"where", "until", "fail-if", "count"} {
		if o.list && o.given(name) {
			return fmt.Errorf("--list prints what is there, and ends: it does not go with --%s", name)
		}
	}
	ends := o.given("until") || o.given("fail-if")
	switch {
	case o.given("until-for") && !o.given("until"):
		return errors.New("--until-for says of how many objects --until has to hold: it needs that")
	case ends && o.given("state"):
		return errors.New("--until and --fail-if judge all that exists, and --state leaves out what was printed before: they do not go together")
	case ends && o.given("count"):
		return errors.New("--count ends with exit code 0 whatever holds: it does not go with --until and --fail-if")
	case o.count < 0 || o.given("count") && o.count == 0:
		return fmt.Errorf("invalid --count %d: it takes a number of events, at least 1", o.count)
	case o.output == noFormat && !ends && o.timeout == 0 && !o.given("count") && !o.given("serve"):
		return errors.New("-o none prints no events: it needs --until, --fail-if, --count, --timeout or --serve")
	}
	return nil
}
