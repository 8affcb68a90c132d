package expression

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
)

// explain returns the first of the issues that CEL has with an expression.
func (x *Expression) explain(issues *cel.Issues) error {
	all := issues.Errors()
	first := all[0]
	for _, issue := range all[1:] {
		at, best := issue.Location, first.Location
		if at.Line() < 1 {
			continue // a macro in what could not be read
		}
		if best.Line() < 1 || at.Line() < best.Line() || at.Line() == best.Line() && at.Column() < best.Column() {
			first = issue
		}
	}
	e := &Error{Reason: Syntax, Text: x.text}
	if first.Location.Line() > 0 {
		e.Line, e.Column = first.Location.Line(), first.Location.Column()+1
	} else {
		e.findEmptyCall(first.Message)
	}
	e.What = e.reword(printable(strings.TrimPrefix(first.Message, "Syntax error: ")))
	return e
}

// findEmptyCall finds the place of an error of a macro, which CEL does not know if it is
// given nothing.
func (e *Error) findEmptyCall(message string) {
	name, _, _ := strings.Cut(message, "(")
	at := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\(\s*\)`).FindStringIndex(e.Text)
	if at == nil {
		return
	}
	before := e.Text[:at[0]]
	e.Line = 1 + strings.Count(before, "\n")
	e.Column = 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

// reword returns a message of CEL's parser or checker for who does not know either.
func (e *Error) reword(message string) string {
	message = strings.ReplaceAll(message, " (in container '')", "")
	if name, ok := between(message, "undeclared reference to '", "'"); ok {
		if e.isCall() {
			return noFunction(name)
		}
		return noVariable(name)
	}
	if call, ok := between(message, "found no matching overload for '", ""); ok {
		return noOverload(call)
	}
	if name, ok := between(message, "undefined field '", "'"); ok {
		return fmt.Sprintf("a change has no %s: it has kind, manager, new, old, operation, path and subresource", name)
	}
	if name, ok := between(message, "type '", "'"); ok && strings.HasSuffix(message, "does not support field selection") {
		name, _, _ = strings.Cut(name, "(")
		return fmt.Sprintf("a %s has no fields", name)
	}
	if text, ok := between(message, "token recognition error at: '", ""); ok {
		return e.noToken(strings.TrimSuffix(text, "'"))
	}
	if text, ok := strings.CutPrefix(message, "expected type '"); ok {
		want, rest, _ := strings.Cut(text, "'")
		found, _ := between(rest, "found '", "'")
		return fmt.Sprintf("expects %s, not %s", want, found)
	}
	if strings.Contains(message, "recursion") {
		return "the expression is nested too deep"
	}
	switch message {
	case "invalid duration argument":
		return "this is no duration, such as '1h30m' or '10s'"
	case "invalid timestamp argument":
		return "this is no time, such as '2026-01-31T12:00:00Z'"
	case "invalid matches argument":
		return "this is no regular expression (RE2), or one that takes too much"
	}
	return unexpected(message)
}

// unexpected rewords what the parser says of a word that it does not expect.
func unexpected(message string) string {
	if strings.HasPrefix(message, "mismatched input '<EOF>'") || strings.HasPrefix(message, "missing ") && strings.HasSuffix(message, "at '<EOF>'") {
		return "the expression ends too early"
	}
	for _, before := range []string{"extraneous input '", "mismatched input '", "no viable alternative at input '"} {
		word, ok := between(message, before, "'")
		switch {
		case ok && wordsOfCEL[word] != "":
			return fmt.Sprintf("there is no %s: write %s", word, wordsOfCEL[word])
		case ok && word != "":
			return "does not expect " + word
		}
	}
	return message
}

// isCall reports whether the mistake is where a call has its arguments.
func (e *Error) isCall() bool {
	lines := strings.Split(e.Text, "\n")
	if e.Line < 1 || e.Line > len(lines) {
		return false
	}
	line := []rune(lines[e.Line-1])
	return e.Column <= len(line) && line[e.Column-1] == '('
}

// noToken says what is wrong with text that begins no word.
func (e *Error) noToken(text string) string {
	switch {
	case strings.HasPrefix(text, "="):
		return "= compares nothing: write =="
	case strings.HasPrefix(text, "&"):
		return "there is no &: write &&"
	case strings.HasPrefix(text, "|"):
		return "there is no |: write ||"
	case strings.HasPrefix(text, "'"), strings.HasPrefix(text, `"`):
		if strings.Contains(text, `\`) {
			return `a text has no end, or a \ in it that means nothing: write \\`
		}
		return "a text has no end: a quote is missing"
	}
	return "cannot read " + strings.TrimSpace(text)
}

// between returns what is in text between two others that it has; the second may be
// empty, and is the end then.
func between(text, before, after string) (string, bool) {
	_, rest, ok := strings.Cut(text, before)
	if after != "" && ok {
		rest, _, _ = strings.Cut(rest, after)
	}
	return rest, ok
}

// wordsOfCEL are words of other languages, and how CEL writes them.
var wordsOfCEL = map[string]string{
	"and": "&&", "or": "||", "not": "!",
	"nil": "null", "none": "null", "None": "null", "True": "true", "False": "false",
}

func noVariable(name string) string {
	switch {
	case wordsOfCEL[name] != "":
		return fmt.Sprintf("there is no %s: write %s", name, wordsOfCEL[name])
	case name == "now":
		return "now is a function: write now()"
	case name == "age", name == "status":
		return fmt.Sprintf("%s is a function: write %[1]s(object)", name)
	case presets[name] != "":
		return fmt.Sprintf("%s stands by itself; in an expression write %s", name, presets[name])
	case strings.ToUpper(name) == name:
		return fmt.Sprintf("there is no %s; a text takes quotes: '%[1]s'", name)
	}
	return fmt.Sprintf("there is no %s: there are type, object, old, changes, time and initial; a text takes quotes", name)
}

func noFunction(name string) string {
	switch name {
	case "all", "exists", "exists_one", "filter", "map":
		return fmt.Sprintf("%s() takes a name for the item, and what is asked of it: %[1]s(c, c.name == 'web')", name)
	case "has":
		return "has() takes a field: has(object.spec.replicas)"
	}
	return fmt.Sprintf("there is no function %s()", name)
}

// noOverload says what a function does not take.
func noOverload(call string) string {
	function, given, ok := strings.Cut(strings.TrimSuffix(call, "'"), "' applied to '")
	if !ok {
		return "no function takes that: " + call
	}
	name, given := functionName(function), typeNames().Replace(given)
	receiver, args, member := strings.Cut(given, ".(")
	if !member {
		args = strings.TrimPrefix(given, "(")
	} else {
		name += " of " + receiver
	}
	args = strings.TrimSuffix(args, ")")
	switch {
	case args == "":
		return name + " does not take nothing"
	case args == "quantity, quantity":
		return name + " does not take quantities: they have isGreaterThan(), isLessThan() and compareTo()"
	case args == "timestamp, string", args == "string, timestamp":
		return name + " does not take timestamp and string: a time is timestamp('2026-01-31T12:00:00Z')"
	case args == "duration, string", args == "duration, int":
		return name + " does not take " + and(args) + ": a duration is duration('1h30m')"
	}
	return name + " does not take " + and(args)
}

// and writes a list of two simple types.
func and(types string) string {
	if strings.Contains(types, "(") {
		return types
	}
	return strings.Replace(types, ", ", " and ", 1)
}

// typeNames are types as they are written in expressions.
var typeNames = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"google.protobuf.Timestamp", "timestamp", "google.protobuf.Duration", "duration",
		"kubernetes.Quantity", "quantity", "optional_type", "optional", "null_type", "null",
	)
})
