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

// Expression is a compiled condition on events. It is safe for concurrent use, but each
// goroutine needs its own Input.
type Expression struct {
	text         string
	expanded     bool // text has presets replaced, so its positions differ from the user's text
	ast          *cel.Ast
	program      cel.Program
	requirements Requirements
}

// Completions returns the texts that shell completion offers as the start of an expression.
func Completions() []string {
	return append(StateCompletions(), "changed(", "changes.exists(c, ", "initial", "managers.exists(m, ", "old.", "type")
}

// StateCompletions returns the Completions for conditions on one state of each object.
func StateCompletions() []string {
	return []string{"age(object)", "cluster", "evicted(object)", "jsonpath(object, ", "now()", "object.", "ready(object)", "restarts(object)", "status(object)", "time", "unready(object)"}
}

// Compile compiles a CEL expression with a boolean result. The names in [Presets] are
// replaced by the conditions that they stand for. Mistakes in the expression are returned as
// [*Error].
func Compile(text string) (*Expression, error) {
	return compile(text, func(p preset) string { return p.forEvents })
}

// compile compiles an expression in which expand gives the text of each preset.
func compile(text string, expand func(preset) string) (*Expression, error) {
	if p, ok := presets[strings.TrimSpace(text)]; ok {
		text = expand(p)
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Message: "the expression is empty"}
	}
	if length := len([]rune(text)); length > maxText {
		return nil, &Error{Message: fmt.Sprintf("the expression is longer than %d characters", maxText)}
	}
	e, err := sharedEnvironment()
	if err != nil {
		return nil, fmt.Errorf("create the CEL environment: %w", err)
	}
	x := &Expression{text: text}
	var issues *cel.Issues
	if x.ast, issues = e.Compile(text); issues.Err() != nil {
		if err := x.compileExpanded(e, issues.Errors(), expand); err != nil {
			return nil, err
		}
	}
	if err := x.checkResult(); err != nil {
		return nil, err
	}
	if x.program, err = e.program(x.ast); err != nil {
		return nil, &Error{Message: printable(err.Error())}
	}
	x.requirements = findRequirements(x.ast.NativeRep())
	return x, nil
}

// String returns the text of the expression. If it uses presets, they are expanded.
func (x *Expression) String() string { return x.text }

// checkResult returns an error if the result type cannot be a bool.
func (x *Expression) checkResult() error {
	t := x.ast.OutputType()
	switch {
	case t.IsExactType(types.BoolType), t.Kind() == types.DynKind:
		return nil
	case t.TypeName() == "optional_type":
		return &Error{Message: "the result is an optional value: end with .orValue(false) or .hasValue()"}
	}
	return &Error{Message: "the result must be true or false, but has type " + printable(cel.FormatCELType(t)) + ": compare it with a value"}
}

// Matches evaluates the expression for an event. It returns false without an error if the
// evaluation fails because of a missing field or item. All other errors are [*Error]. As
// always in CEL, an error is ignored if another operand decides the result, as in true || x
// and in exists().
func (x *Expression) Matches(in *Input) (bool, error) {
	in.oldMissing = false
	result, _, err := x.program.Eval(in)
	in.lacksOldState = err != nil && in.oldMissing && isMissing(err.Error())
	return x.toBool(result, err)
}

// toBool converts the result of an evaluation. null and missing values count as false.
func (x *Expression) toBool(result ref.Val, err error) (bool, error) {
	if err != nil {
		if isMissing(err.Error()) {
			return false, nil
		}
		return false, x.describeError(err)
	}
	switch result := result.(type) {
	case types.Bool:
		return bool(result), nil
	case types.Null:
		return false, nil
	}
	return false, &Error{Message: "the result must be true or false, but has type " + printable(typeName(result))}
}

// describeError converts an evaluation error to a message without values of the object.
func (x *Expression) describeError(err error) error {
	var found *Error
	var failed *types.Err
	switch {
	case errors.As(err, new(interpreter.EvalCancelledError)):
		return &Error{Message: "the expression takes too long or too much memory for this object"}
	case errors.As(err, &found):
		return x.locate(found.node, found.Message)
	case errors.As(err, &failed): // from &&, || or ?:, which are not calls and so are not wrapped in explainedCall
		return x.locate(failed.NodeID(), "a condition is neither true nor false")
	}
	return &Error{Message: "the expression cannot be evaluated"}
}

// locate returns an error with the position of a node in the user's text.
func (x *Expression) locate(node int64, message string) error {
	e := &Error{Message: message}
	if x.expanded {
		return e
	}
	if location := x.ast.NativeRep().SourceInfo().GetStartLocation(node); location.Line() > 0 {
		e.Line, e.Column = location.Line(), location.Column()+1
	}
	return e
}

// printable replaces line breaks and control characters.
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
