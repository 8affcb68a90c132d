package expression

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// Error is a mistake in an expression. Its message never contains values of objects.
type Error struct {
	// Line and Column are the position in the text, starting at 1. They are 0 if it is unknown.
	Line, Column int
	Message      string

	node int64 // AST node of the error, used to find Line and Column
}

func (e *Error) Error() string {
	switch {
	case e.Line > 1:
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	case e.Column > 0:
		return fmt.Sprintf("column %d: %s", e.Column, e.Message)
	}
	return e.Message
}

// errMissing is the error for a missing value. CEL has similar errors, but does not export
// their types, so isMissing compares their texts.
var errMissing = errors.New("no such key")

var errWrongType = errors.New("no such overload")

func missing() ref.Val { return types.WrapErr(errMissing) }

// isMissing reports whether the text of a CEL error means that a field or an item is missing.
func isMissing(text string) bool {
	starts := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	return starts("no such key") || starts("index out of bounds") || starts("index out of range") ||
		starts("optional.none() dereference") || starts("index '") && strings.Contains(text, "out of range")
}

// explainedCall is a call that replaces CEL's errors. Only the call knows its name and arguments.
type explainedCall struct{ interpreter.InterpretableCall }

// Exec implements interpreter.InterpretableV2.
func (c *explainedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := c.InterpretableCall.Exec(frame)
	if err, failed := result.(*types.Err); failed {
		return c.explain(frame, err)
	}
	return result
}

// Eval implements interpreter.Interpretable.
func (c *explainedCall) Eval(a interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(a, c.Exec)
}

// explain returns errMissing or an [Error] whose message names types, not values. A call that
// fails because of a null argument counts as missing.
func (c *explainedCall) explain(frame *interpreter.ExecutionFrame, err *types.Err) ref.Val {
	var known *Error
	if errors.As(err, &known) || isMissing(err.String()) {
		return err
	}
	var names []string
	for _, arg := range c.Args() {
		v := arg.Exec(frame)
		switch {
		case types.IsError(v):
			return v
		case v == types.NullValue:
			return missing()
		}
		names = append(names, typeName(v))
	}
	if c.Function() == ageFunction { // users do not write the second argument
		names = names[:1]
	}
	name, given := functionName(c.Function()), strings.Join(names, " and ")
	e := &Error{node: c.ID()}
	switch {
	case strings.Contains(err.String(), errWrongType.Error()):
		e.Message = printable(fmt.Sprintf("%s does not take %s", name, given))
	case strings.Contains(err.String(), "exceeds maximum allowed"):
		e.Message = fmt.Sprintf("%s is limited to %d numbers", name, maxRange)
	case strings.Contains(err.String(), "by zero"):
		e.Message = "division by zero"
	case strings.Contains(err.String(), "overflow"):
		e.Message = fmt.Sprintf("the result of %s is out of range for its type", name)
	default:
		e.Message = printable(fmt.Sprintf("%s cannot use this value of type %s", name, given))
	}
	return types.WrapErr(e)
}

// functionName returns the name or symbol of a function as users write it.
func functionName(symbol string) string {
	switch symbol {
	case operators.Index, operators.OptIndex:
		return "[]"
	case operators.Negate:
		return "-"
	case "math.@max":
		return "math.greatest()"
	case "math.@min":
		return "math.least()"
	case "@sortByAssociatedKeys":
		return "sortBy()"
	}
	if text, ok := operators.FindReverse(symbol); ok && text != "" {
		return text
	}
	return strings.TrimPrefix(symbol, "@") + "()"
}

// typeName returns the type of a value as users write it in expressions.
func typeName(v ref.Val) string { return typeNames.Replace(v.Type().TypeName()) }
