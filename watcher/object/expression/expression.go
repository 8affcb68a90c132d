package expression

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// Expression is a condition for events. It may be used by several goroutines at the same
// time, each with an Input of its own.
type Expression struct {
	text    string
	hasWord bool // with others: places in text are not those in what somebody wrote
	ast     *cel.Ast
	program cel.Program
	needs   Requirements
}

// Beginnings returns what an expression may begin with.
func Completions() []string {
	return []string{"age(object)", "changed(", "changes.exists(c, ", "cluster", "evicted(object)", "initial", "jsonpath(object, ", "managers.exists(m, ", "now()", "object.", "old.", "ready(object)", "restarts(object)", "status(object)", "time", "type", "unready(object)"}
}

// Compile reads an expression: one in CEL whose result is true or false, in which each of
// [Presets] stands for a condition. What is wrong with it comes back as [*Error].
func Compile(text string) (*Expression, error) {
	return compile(text, func(w word) string { return w.ofEvents })
}

// compile is Compile with the expressions that words stand for.
func compile(text string, stands func(word) string) (*Expression, error) {
	if w, ok := words[strings.TrimSpace(text)]; ok {
		text = stands(w)
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Message: "the expression is empty"}
	}
	if length := len([]rune(text)); length > maxText {
		return nil, &Error{Message: fmt.Sprintf("the expression is longer than %d characters", maxText)}
	}
	e, err := sharedEnvironment()
	if err != nil {
		return nil, fmt.Errorf("make the environment of expressions: %w", err)
	}
	x := &Expression{text: text}
	var issues *cel.Issues
	if x.ast, issues = e.Compile(text); issues.Err() != nil {
		if err := x.compileWords(e, issues.Errors(), stands); err != nil {
			return nil, err
		}
	}
	if err := x.checkResult(); err != nil {
		return nil, err
	}
	if x.program, err = e.program(x.ast); err != nil {
		return nil, &Error{Message: printable(err.Error())}
	}
	x.needs = needsOf(x.ast.NativeRep())
	return x, nil
}

// String returns the expression; of presets what they stand for.
func (x *Expression) String() string { return x.text }

// checkResult returns an error for what can neither be true nor false.
func (x *Expression) checkResult() error {
	t := x.ast.OutputType()
	switch {
	case t.IsExactType(types.BoolType), t.Kind() == types.DynKind:
		return nil
	case t.TypeName() == "optional_type":
		return &Error{Message: "the result is an optional value: end with .orValue(false), or .hasValue()"}
	}
	return &Error{Message: "the result is no condition, but of type " + printable(cel.FormatCELType(t)) + ": compare it with something"}
}

// Holds reports whether the expression holds for an event. It does not where it ends in
// looking for what is not there. Other errors are [*Error]; by the rules of CEL one comes to
// nothing where the rest decides, as in true || x and in exists().
func (x *Expression) Matches(in *Input) (bool, error) {
	in.lacksOld = false
	result, _, err := x.program.Eval(in)
	in.unknown = err != nil && in.lacksOld && isMissing(err.Error())
	return x.conclude(result, err)
}

// conclude returns what the result of an evaluation means.
func (x *Expression) conclude(result ref.Val, err error) (bool, error) {
	if err != nil {
		if isMissing(err.Error()) {
			return false, nil
		}
		return false, x.mistake(err)
	}
	switch result := result.(type) {
	case types.Bool:
		return bool(result), nil
	case types.Null:
		return false, nil
	}
	return false, &Error{Message: "the result is neither true nor false, but of type " + printable(typeName(result))}
}

// mistake returns an error of an evaluation in words that have no values in them.
func (x *Expression) mistake(err error) error {
	var found *Error
	var failed *types.Err
	switch {
	case errors.As(err, new(interpreter.EvalCancelledError)):
		return &Error{Message: "the expression takes too long or too much memory for this object"}
	case errors.As(err, &found):
		return x.at(found.node, found.Message)
	case errors.As(err, &failed): // of what is no call: && || ?:
		return x.at(failed.NodeID(), "a condition is neither true nor false")
	}
	return &Error{Message: "the expression cannot be evaluated"}
}

func (x *Expression) at(node int64, what string) error {
	e := &Error{Message: what}
	if x.hasWord {
		return e
	}
	if location := x.ast.NativeRep().SourceInfo().GetStartLocation(node); location.Line() > 0 {
		e.Line, e.Column = location.Line(), location.Column()+1
	}
	return e
}

// printable returns text without line breaks and control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}
