package expression

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Requirements lists the event data that an expression can read.
type Requirements struct {
	// Object: fields of the object outside its identity, which every event contains.
	Object bool
	// Content: fields of object or old that can differ between the states of an object. changes and changed() do not count.
	Content bool
	// Old: the old state, so previous states must be retained.
	Old bool
	// Changes: the differences between both states.
	Changes bool
	// ManagedFields: metadata.managedFields. Changes need them for list keys and managers.
	ManagedFields bool
	// Now: the current time, so the result can change without an event.
	Now bool
	// Status: the state of the object, as functions such as ready return it.
	Status bool
}

// Requirements returns the data that the expression can read. An evaluation may read less.
func (x *Expression) Requirements() Requirements { return x.requirements }

// statusFunctions are the functions that judge the state of an object.
var statusFunctions = []string{"ready", "unready", "status"}

// findRequirements derives the requirements from the variables and functions in an expression.
func findRequirements(checked *ast.AST) (n Requirements) {
	ast.MatchDescendants(ast.NavigateAST(checked), func(e ast.NavigableExpr) bool {
		switch {
		case e.Kind() == ast.CallKind:
			n.Status = n.Status || slices.Contains(statusFunctions, e.AsCall().FunctionName())
			return false
		case e.Kind() != ast.IdentKind:
			return false
		}
		switch e.AsIdent() {
		case changesVariable, managersVariable, comparisonVariable:
			n = Requirements{Object: true, Content: n.Content, Old: true, Changes: true, ManagedFields: true, Now: n.Now, Status: n.Status}
		case nowVariable:
			n.Now = true
		case objectVariable, oldVariable:
			fields, by := selectedFields(e)
			n.Old = n.Old || e.AsIdent() == oldVariable
			n.Object = n.Object || e.AsIdent() == objectVariable && !isIdentity(fields)
			n.Content = n.Content || !isConstant(fields)
			n.ManagedFields = n.ManagedFields || readsManagedFields(fields, by)
		}
		return false
	})
	return n
}

// selectedFields returns the path of fields that the expression selects, starting at the
// variable e, and the name of the function that takes the last one, if any.
func selectedFields(e ast.NavigableExpr) (fields []string, by string) {
	for {
		parent, ok := e.Parent()
		if !ok {
			return fields, ""
		}
		switch parent.Kind() {
		case ast.SelectKind:
			fields = append(fields, parent.AsSelect().FieldName())
		case ast.CallKind:
			call := parent.AsCall()
			name, isLiteral := "", false
			if args := call.Args(); len(args) == 2 && args[0].ID() == e.ID() {
				name, isLiteral = stringLiteral(args[1])
			}
			switch call.FunctionName() {
			case operators.Equals, operators.NotEquals:
				if isNull(call.Args()[0]) || isNull(call.Args()[1]) {
					return fields, nullCheck
				}
				return fields, call.FunctionName()
			case operators.Index, operators.OptIndex, operators.OptSelect:
				if !isLiteral {
					return fields, ""
				}
				fields = append(fields, name)
			default:
				return fields, call.FunctionName()
			}
		default:
			return fields, ""
		}
		e = parent
	}
}

// nullCheck is the function name that selectedFields returns for a comparison with null.
const nullCheck = "null"

func isNull(e ast.Expr) bool { return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue }

// isIdentity reports whether the path is part of the identity, which is known even without the content.
func isIdentity(fields []string) bool {
	if len(fields) > 1 && fields[0] == "metadata" {
		return slices.Contains([]string{"name", "namespace", "uid", "resourceVersion"}, fields[1])
	}
	return len(fields) > 0 && (fields[0] == "apiVersion" || fields[0] == "kind")
}

// ignoreManagedFields are the functions that take an object but do not read managedFields.
var ignoreManagedFields = []string{"status", "ready", "unready", "evicted", "restarts", ageFunction}

// isConstant reports whether the field at the path is the same in all states of an object.
func isConstant(fields []string) bool {
	const version = "resourceVersion"
	if len(fields) > 1 && fields[0] == "metadata" && fields[1] == version {
		return false
	}
	return isIdentity(fields) || len(fields) > 1 && fields[0] == "metadata" && fields[1] == "creationTimestamp"
}

// readsManagedFields reports whether the value at the path is or contains managedFields, and
// the function that takes it reads them.
func readsManagedFields(fields []string, by string) bool {
	switch {
	case by == nullCheck:
		return false
	case len(fields) == 0:
		return !slices.Contains(ignoreManagedFields, by)
	case fields[0] != "metadata":
		return false
	}
	return len(fields) == 1 || fields[1] == "managedFields"
}
