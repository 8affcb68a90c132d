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

// Error is a mistake of an expression. It has no values of objects in it.
type Error struct {
	// Line and Column, from 1, are where in the text; 0 if that is not known.
	Line, Column int
	// What is wrong, in a few words.
	Message string

	node int64 // of the expression, where Line and Column are not known yet
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

// errMissing is the error of what is not there. CEL's own of that kind are known by
// their text, as they have no type that is exported: see isMissing.
var errMissing = errors.New("no such key")

var errWrongType = errors.New("no such overload")

func missing() ref.Val { return types.WrapErr(errMissing) }

// isMissing reports whether an error of CEL means that something is not there.
func isMissing(text string) bool {
	starts := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	return starts("no such key") || starts("index out of bounds") || starts("index out of range") ||
		starts("optional.none() dereference") || starts("index '") && strings.Contains(text, "out of range")
}

// explained is a call whose errors are classified where they arise: what went wrong is
// known there.
type explained struct{ interpreter.InterpretableCall }

// Exec implements interpreter.InterpretableV2.
func (c *explained) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := c.InterpretableCall.Exec(frame)
	if err, failed := result.(*types.Err); failed {
		return c.explain(frame, err)
	}
	return result
}

// Eval implements interpreter.Interpretable.
func (c *explained) Eval(a interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(a, c.Exec)
}

// explain returns the error as one of what is missing, or as an [Error], in words that name
// types, not values. A null counts as missing where it does not fit.
func (c *explained) explain(frame *interpreter.ExecutionFrame, err *types.Err) ref.Val {
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
	if c.Function() == ageFunction { // the present is no argument that anybody wrote
		names = names[:1]
	}
	name, given := functionName(c.Function()), strings.Join(names, " and ")
	e := &Error{node: c.ID()}
	switch {
	case strings.Contains(err.String(), errWrongType.Error()):
		e.Message = printable(fmt.Sprintf("%s does not take %s", name, given))
	case strings.Contains(err.String(), "by zero"):
		e.Message = "a division by zero"
	case strings.Contains(err.String(), "overflow"):
		e.Message = fmt.Sprintf("the result of %s does not fit into its type", name)
	default:
		e.Message = printable(fmt.Sprintf("%s cannot use this value, of type %s", name, given))
	}
	return types.WrapErr(e)
}

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

// typeName is the name of a value's type as it is written in expressions.
func typeName(v ref.Val) string { return typeNames.Replace(v.Type().TypeName()) }
