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

// explain returns the first of the issues that CEL has with an expression.
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

// rank is lower for an issue that may be the cause of others: a macro finds fault with
// what could not be read.
func rank(issue *cel.Error) int {
	switch {
	case issue.Location.Line() < 1:
		return 2
	case strings.HasPrefix(issue.Message, syntaxError):
		return 0
	}
	return 1
}

// rewordings are messages of CEL that do not help who knows neither its grammar nor what
// there is here, and what is said in their place. All others are passed on.
var rewordings = []struct{ message, say string }{
	{`(?:input|reference to) '(and)'`, "there is no $1: write &&"},
	{`(?:input|reference to) '(or)'`, "there is no $1: write ||"},
	{`reference to '(nil|none|None)'`, "there is no $1: write null"},
	{`reference to '(True)'`, "there is no $1: write true"},
	{`reference to '(False)'`, "there is no $1: write false"},
	{`reference to '(now)'`, "$1 is a function: write $1()"},
	{`reference to '(age|status)'`, "$1 is a function: write $1(object)"},
	{`reference to '(all|exists|exists_one|filter|map)'`, "$1() takes a name for the item, and what is asked of it: $1(c, c.name == 'web')"},
	{`reference to '([A-Z0-9_]+)'`, "there is no $1; a text takes quotes: '$1'"},
	{undeclared, "there is no $1: variables are type, object, old, changes, managers, time and initial; a text takes quotes"},
	{undefined, "a change has no $1: it has kind, manager, new, old, operation, path and subresource"},
	{`token recognition error at: '=`, "= compares nothing: write =="},
	{`token recognition error at: '([&|])`, "there is no $1: write $1$1"},
	{`token recognition error at: '["'].*\\`, `a text has no end, or a \ in it that means nothing: write \\`},
	{`token recognition error at: '["']`, "a text has no end: a quote is missing"},
	{`token recognition error at: '(.*)'`, "cannot read $1"},
	{`mismatched input '<EOF>'|^missing .* at '<EOF>'`, "the expression ends too early"},
	{`(?:extraneous|mismatched) input '(.*?)' expecting|viable alternative at input '(.+?)'`, "does not expect $1$2"},
	{`invalid duration argument`, "this is no duration, such as '1h30m' or '10s'"},
	{`invalid timestamp argument`, "this is no time, such as '2026-01-31T12:00:00Z'"},
	{`invalid matches argument`, "this is no regular expression (RE2), or one that takes too much"},
}

const (
	undeclared = `reference to '(.*?)'`
	undefined  = `undefined field '(.*?)'`
)

// meantBy returns the word that may have been meant by the one that means nothing, as a message of this
// form says; empty if none is spelling.
func meantBy(form, message string) string {
	switch form {
	case undeclared:
		return spelling.Nearest(regexp.MustCompile(form).FindStringSubmatch(message)[1], slices.Concat(Presets(), vocabulary()))
	case undefined:
		return spelling.Nearest(regexp.MustCompile(form).FindStringSubmatch(message)[1], slices.Sorted(maps.Keys(changeFields)))
	}
	return ""
}

// vocabulary is all that expressions are made of that people write.
func vocabulary() []string {
	names := []string{typeVariable, objectVariable, oldVariable, changesVariable, managersVariable, timeVariable, initialVariable,
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

// reword returns a message of CEL's parser or checker in one line, for people.
func reword(message string) string {
	message = strings.ReplaceAll(strings.TrimPrefix(message, syntaxError), " (in container '')", "")
	if m := regexp.MustCompile(`no matching overload for '(.*?)' applied to '(?:(.*)\.)?\((.*)\)'`).FindStringSubmatch(message); m != nil {
		return noOverload(m[1], typeNames.Replace(m[2]), typeNames.Replace(m[3]))
	}
	for _, r := range rewordings {
		pattern := regexp.MustCompile(r.message)
		if m := pattern.FindStringSubmatchIndex(message); m != nil {
			say := string(pattern.ExpandString(nil, r.say, message, m))
			if meant := meantBy(r.message, message); meant != "" {
				before, _, _ := strings.Cut(say, ":") // what there is
				return before + "; did you mean " + meant + "?"
			}
			return say
		}
	}
	return message
}

// noOverload says what a function, perhaps one of a receiver, does not take.
func noOverload(function, receiver, args string) string {
	name := functionName(function)
	if receiver != "" {
		name += " of " + receiver
	}
	switch args {
	case "":
		return name + " does not take nothing"
	case "quantity, quantity":
		return name + " does not take quantities: they have isGreaterThan(), isLessThan() and compareTo()"
	}
	hint := ""
	switch {
	case !strings.Contains(args, "string") && !strings.Contains(args, "int"):
	case strings.HasPrefix(args, "timestamp, "):
		hint = ": a time is timestamp('2026-01-31T12:00:00Z')"
	case strings.HasPrefix(args, "duration, "):
		hint = ": a duration is duration('1h30m')"
	}
	if !strings.Contains(args, "(") {
		args = strings.Replace(args, ", ", " and ", 1)
	}
	return fmt.Sprintf("%s does not take %s%s", name, args, hint)
}

// typeNames are types as they are written in expressions.
var typeNames = strings.NewReplacer(
	"google.protobuf.Timestamp", "timestamp", "google.protobuf.Duration", "duration",
	"kubernetes.Quantity", "quantity", "optional_type", "optional", "null_type", "null",
)
