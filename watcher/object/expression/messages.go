package expression

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"

	"dwatch/internal/spelling"
)

// explain returns the most important of the issues that CEL reports for an expression.
func explain(issues []*cel.Error) *Error {
	first := slices.MinFunc(issues, func(a, b *cel.Error) int {
		return cmp.Or(rank(a)-rank(b), a.Location.Line()-b.Location.Line(), a.Location.Column()-b.Location.Column())
	})
	e := &Error{Message: reword(printable(first.Message))}
	if at := first.Location; at.Line() > 0 {
		e.Line, e.Column = at.Line(), at.Column()+1
	}
	return e
}

const syntaxError = "Syntax error: "

// rank orders issues. Syntax errors come first, because they cause other issues, for example in
// macros. Issues without a position come last.
func rank(issue *cel.Error) int {
	switch {
	case issue.Location.Line() < 1:
		return 2
	case strings.HasPrefix(issue.Message, syntaxError):
		return 0
	}
	return 1
}

// rewordings replace messages of CEL that only help readers who know its grammar. message is a
// regular expression. All other messages are used unchanged.
var rewordings = []struct{ message, text string }{
	{`(?:input|reference to) '(and)'`, "there is no $1: write &&"},
	{`(?:input|reference to) '(or)'`, "there is no $1: write ||"},
	{`reference to '(nil|none|None)'`, "there is no $1: write null"},
	{`reference to '(True)'`, "there is no $1: write true"},
	{`reference to '(False)'`, "there is no $1: write false"},
	{`reference to '(now)'`, "$1 is a function: write $1()"},
	{`reference to '(age|status)'`, "$1 is a function: write $1(object)"},
	{`reference to '(all|exists|exists_one|filter|map)'`, "$1() takes a variable name and an expression: $1(c, c.name == 'web')"},
	{`reference to '([A-Z0-9_]+)'`, "there is no $1; strings need quotes: '$1'"},
	{undeclared, "there is no $1: the variables are type, object, old, changes, managers, time, initial and cluster; strings need quotes"},
	{undefined, "a change has no $1: it has kind, manager, new, old, operation, path and subresource"},
	{`token recognition error at: '=`, "= is not an operator: write =="},
	{`token recognition error at: '([&|])`, "there is no $1: write $1$1"},
	{`token recognition error at: '["'].*\\`, `a string has no closing quote, or an invalid escape sequence: write \\ for a backslash`},
	{`token recognition error at: '["']`, "a string has no closing quote"},
	{`token recognition error at: '(.*)'`, "cannot read $1"},
	{`mismatched input '<EOF>'|^missing .* at '<EOF>'`, "the expression ends too early"},
	{`(?:extraneous|mismatched) input '(.*?)' expecting|viable alternative at input '(.+?)'`, "unexpected $1$2"},
	{`invalid duration argument`, "invalid duration: write it as '1h30m' or '10s'"},
	{`invalid timestamp argument`, "invalid time: write it as '2026-01-31T12:00:00Z'"},
	{`invalid matches argument`, "invalid regular expression (RE2), or one that is too large"},
}

const (
	undeclared = `reference to '(.*?)'`
	undefined  = `undefined field '(.*?)'`
)

// suggestion returns the known name that is most similar to the unknown name in a message, or "" if none is similar.
// form is the regular expression of the rewording.
func suggestion(form, message string) string {
	switch form {
	case undeclared:
		return spelling.Nearest(regexp.MustCompile(form).FindStringSubmatch(message)[1], slices.Concat(Presets(), vocabulary()))
	case undefined:
		return spelling.Nearest(regexp.MustCompile(form).FindStringSubmatch(message)[1], slices.Sorted(maps.Keys(changeFields)))
	}
	return ""
}

// vocabulary returns the names of all variables, functions and macros.
func vocabulary() []string {
	names := []string{typeVariable, objectVariable, oldVariable, changesVariable, managersVariable, timeVariable, initialVariable, clusterVariable,
		"age", "changed", "jsonpath", "now", "all", "exists", "exists_one", "filter", "has", "map"}
	e, err := sharedEnvironment()
	if err != nil {
		return names
	}
	for name := range e.Functions() {
		if isWord(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && r != '.' })
}

// reword returns the text that users see for a message of CEL's parser or type checker.
func reword(message string) string {
	message = strings.ReplaceAll(strings.TrimPrefix(message, syntaxError), " (in container '')", "")
	if m := regexp.MustCompile(`no matching overload for '(.*?)' applied to '(?:(.*)\.)?\((.*)\)'`).FindStringSubmatch(message); m != nil {
		return noOverload(m[1], typeNames.Replace(m[2]), typeNames.Replace(m[3]))
	}
	for _, r := range rewordings {
		pattern := regexp.MustCompile(r.message)
		if m := pattern.FindStringSubmatchIndex(message); m != nil {
			text := string(pattern.ExpandString(nil, r.text, message, m))
			if name := suggestion(r.message, message); name != "" {
				problem, _, _ := strings.Cut(text, ":") // without the list of valid names
				return problem + "; did you mean " + name + "?"
			}
			return text
		}
	}
	return message
}

// noOverload describes a call with arguments of types that the function does not accept. receiver is empty unless it is
// a method.
func noOverload(function, receiver, args string) string {
	name := functionName(function)
	if receiver != "" {
		name += " of " + receiver
	}
	switch args {
	case "":
		return name + " needs an argument"
	case "quantity, quantity":
		return name + " does not take quantities: use isGreaterThan(), isLessThan() or compareTo()"
	}
	hint := ""
	switch {
	case !strings.Contains(args, "string") && !strings.Contains(args, "int"):
	case strings.HasPrefix(args, "timestamp, "):
		hint = ": write a time as timestamp('2026-01-31T12:00:00Z')"
	case strings.HasPrefix(args, "duration, "):
		hint = ": write a duration as duration('1h30m')"
	}
	if !strings.Contains(args, "(") {
		args = strings.Replace(args, ", ", " and ", 1)
	}
	return fmt.Sprintf("%s does not take %s%s", name, args, hint)
}

// typeNames replaces CEL's internal type names by the names that users write.
var typeNames = strings.NewReplacer(
	"google.protobuf.Timestamp", "timestamp", "google.protobuf.Duration", "duration",
	"kubernetes.Quantity", "quantity", "optional_type", "optional", "null_type", "null",
)
