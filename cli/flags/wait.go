package flags

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
	"dwatch/watcher/object/expression"
)

// Wait holds the flags of dwatch wait. --for accepts the forms of kubectl wait and expressions.
type Wait struct {
	StopConditions
	forms []string
}

func (a *Wait) AddTo(f *pflag.FlagSet) {
	f.StringArrayVar(&a.forms, "for", []string{"ready"}, "Wait for `WHAT`, as with kubectl wait: condition=NAME[=VALUE], jsonpath=PATH[=VALUE], create or delete; or for a CEL expression or a word: "+strings.Join(expression.Presets(), ", ")+" (repeatable: all must match); see docs/reference/expressions.md")
	describeBriefly(f, "for", "Wait for `WHAT`: ready, failed, delete, condition=NAME, ...")
	offers(f, "for", slices.Concat(expression.Presets(), []string{"condition=", "create", "delete", "jsonpath="}, expression.Completions())...)
	condition(f, &a.FailIf, "fail-if", "End with exit code 3 when `EXPR`, a CEL expression or a word, is true for any object; with --for ready, the default is failed")
	describeBriefly(f, "fail-if", "End with exit code 3 when `EXPR` is true for any object")
	a.addOf(f, "How many objects must match: `WHICH` is all (at the same time), any (one object) or each (at some time)")
	Timeout(&a.Timeout, "with exit code 124; by default dwatch waits without a limit")(f)
	a.Logs.addTo(f, 20, "If the wait fails, print the last `N` lines of the failed container, from before its restart if it has restarted; 0 disables this; see docs/reference/reasons.md")
	takes(f, "timeout", func(string) error {
		if a.Timeout == 0 {
			return errors.New("invalid --timeout 0: without --timeout it waits without a limit; to check once, use --for true --fail-if '!ready(object)'")
		}
		return nil
	})
	notEmpty(f, "fail-if")
}

// Parse returns the conditions that end the wait.
func (a *Wait) Parse() (StopConditions, error) {
	var err error
	if slices.Contains(a.forms, "delete") && slices.Contains(a.forms, "create") {
		return a.StopConditions, errors.New("--for delete and --for create contradict each other: an object can't both exist and be deleted")
	}
	if a.Until, err = a.condition(); err != nil {
		return a.StopConditions, err
	}
	if a.Until.Text == "ready" && !a.FailIf.IsSet() {
		if a.FailIf, err = compile("fail-if", "failed"); err != nil {
			return a.StopConditions, err
		}
	}
	return a.StopConditions, a.Check(false)
}

// condition combines all --for flags into one expression.
func (a *Wait) condition() (Condition, error) {
	if len(a.forms) == 1 && a.forms[0] == "ready" {
		return compile("for", "ready")
	}
	var all []string
	for _, form := range a.forms {
		text, err := waitForm(form)
		if err != nil {
			return Condition{}, fmt.Errorf("invalid --for %q: %w", output.EscapeLine(form), err)
		}
		all = append(all, text)
	}
	text := all[0]
	if len(all) > 1 {
		text = "(" + strings.Join(all, ") && (") + ")"
	}
	c, err := compile("for", text)
	c.Text = strings.Join(a.forms, " and ")
	c.Fields = nil
	for i, form := range a.forms {
		if kind, _, _ := strings.Cut(form, "="); all[i] != form && !strings.EqualFold(kind, "jsonpath") {
			continue // a generated expression: the user named none of the fields that it reads
		}
		if x, err := expression.Compile(all[i]); err == nil {
			c.Fields = append(c.Fields, x.FieldPaths()...)
		}
	}
	return c, err
}

// waitForm returns the expression for one --for. It accepts the forms of kubectl wait:
// https://kubernetes.io/docs/reference/kubectl/generated/kubectl_wait/
func waitForm(form string) (string, error) {
	kind, rest, isForm := strings.Cut(form, "=")
	kind = strings.ToLower(kind)
	compares := strings.HasPrefix(rest, "=")
	switch {
	case strings.TrimSpace(form) == "":
		return "", errors.New("it must not be empty")
	case kind == "delete" && !isForm:
		return "type == 'DELETED'", nil
	case kind == "create" && !isForm:
		return "type != 'DELETED'", nil
	case kind == "condition" && isForm && !compares:
		return conditionForm(rest)
	case kind == "jsonpath" && isForm && !compares:
		return jsonPathForm(rest)
	case slices.Contains(expression.Presets(), form):
		x, err := expression.Compile(form)
		if err != nil {
			return "", err
		}
		return x.String(), nil
	}
	return form, nil
}

// conditionForm returns the expression for condition=NAME[=VALUE]. Upper and lower case are the same.
// As with kubectl wait, the first condition of that name decides, it must not be about an older
// generation of the object, and a field of another type counts as absent.
func conditionForm(text string) (string, error) {
	name, value, has := strings.Cut(text, "=")
	if name == "" || has && value == "" {
		return "", errors.New("it takes condition=NAME, such as condition=Available, or condition=NAME=VALUE")
	}
	const generation = "object.metadata.?generation.orValue(0)"
	const observed = "([c.?observedGeneration.orValue(''), object.status.?observedGeneration.orValue('')].filter(g, type(g) == int) + [" + generation + "])[0]"
	isNamed := fmt.Sprintf("type(c) == map && type(c.?type.orValue(0)) == string && type(c.?status.orValue(0)) == string && c.type.lowerAscii() == %s", strconv.Quote(strings.ToLower(name)))
	holds := fmt.Sprintf("c.status.lowerAscii() == %s && %s <= %s", strconv.Quote(strings.ToLower(cmp.Or(value, "true"))), generation, observed)
	return fmt.Sprintf("type != 'DELETED' && type(object.status.conditions) == list && object.status.conditions.filter(c, %s).map(c, %s)[0]", isNamed, holds), nil
}

// pathAndValue are PATH and PATH=VALUE; in a path there may be a ==.
var pathAndValue = regexp.MustCompile(`^((?:==|[^=])+)(=.*)?$`)

// jsonPathForm returns the expression for jsonpath=PATH[=VALUE]. With VALUE, the path must find that one
// value, apart from white space around it. Without, it must find any.
func jsonPathForm(text string) (string, error) {
	parts := pathAndValue.FindStringSubmatch(text)
	if parts == nil || parts[2] == "=" {
		return "", errors.New("it takes a path, and may take a value, such as jsonpath='{.status.phase}'=Running")
	}
	found := "jsonpath(object, " + strconv.Quote(parts[1]) + ")"
	if parts[2] == "" {
		return "type != 'DELETED' && " + found + ".size() > 0", nil
	}
	return "type != 'DELETED' && " + found + ".map(v, v.trim()) == [" + strconv.Quote(strings.TrimSpace(strings.Trim(parts[2][1:], `"'`))) + "]", nil
}
