package expression

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Needs says what of an event an expression can look at.
type Requirements struct {
	// Object: more of the object than its identity, which every event has.
	Object bool
	// Content: that, or more of the state before, and not only what changed between the two.
	Content bool
	// Old: the state before, so that it has to be kept.
	Old bool
	// Changes: what changed, for which both are compared.
	Changes bool
	// ManagedFields: metadata.managedFields, of which changes have keys and managers.
	ManagedFields bool
	// Now: the present, so that what it says changes without an event.
	Now bool
}

func (n Requirements) Union(o Requirements) Requirements {
	return Requirements{n.Object || o.Object, n.Content || o.Content, n.Old || o.Old, n.Changes || o.Changes, n.ManagedFields || o.ManagedFields, n.Now || o.Now}
}

// Needs returns what the expression can look at; it may look at less.
func (x *Expression) Requirements() Requirements { return x.needs }

// needsOf finds the variables in an expression.
func needsOf(checked *ast.AST) (n Requirements) {
	ast.MatchDescendants(ast.NavigateAST(checked), func(e ast.NavigableExpr) bool {
		if e.Kind() != ast.IdentKind {
			return false
		}
		switch e.AsIdent() {
		case changesVariable, managersVariable, comparisonVariable:
			n = Requirements{Object: true, Content: n.Content, Old: true, Changes: true, ManagedFields: true, Now: n.Now}
		case nowVariable:
			n.Now = true
		case objectVariable, oldVariable:
			fields, by := selected(e)
			n.Old = n.Old || e.AsIdent() == oldVariable
			n.Object = n.Object || e.AsIdent() == objectVariable && !isIdentity(fields)
			n.Content = n.Content || !isKept(fields)
			n.ManagedFields = n.ManagedFields || seesManagedFields(fields, by)
		}
		return false
	})
	return n
}

// selected returns the names by which fields are selected, one in the other, from a
// variable on; and the function, if any, that takes the last.
func selected(e ast.NavigableExpr) (fields []string, by string) {
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
			name, literally := "", false
			if args := call.Args(); len(args) == 2 && args[0].ID() == e.ID() {
				name, literally = literal(args[1])
			}
			switch call.FunctionName() {
			case operators.Equals, operators.NotEquals:
				if isNull(call.Args()[0]) || isNull(call.Args()[1]) {
					return fields, nullCheck
				}
				return fields, call.FunctionName()
			case operators.Index, operators.OptIndex, operators.OptSelect:
				if !literally {
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

// nullCheck stands for a function that looks at nothing but whether there is something.
const nullCheck = "null"

func isNull(e ast.Expr) bool { return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue }

// isIdentity reports whether the fields lead to what is always known of an object.
func isIdentity(fields []string) bool {
	if len(fields) > 1 && fields[0] == "metadata" {
		return slices.Contains([]string{"name", "namespace", "uid", "resourceVersion"}, fields[1])
	}
	return len(fields) > 0 && (fields[0] == "apiVersion" || fields[0] == "kind")
}

// notManaged are the functions that take an object and do not look at managedFields.
var notManaged = []string{"status", "ready", "unready", "evicted", "restarts", ageFunction}

// isKept reports whether the fields lead to what is the same in all states of an object.
func isKept(fields []string) bool {
	const version = "resourceVersion"
	if len(fields) > 1 && fields[0] == "metadata" && fields[1] == version {
		return false
	}
	return isIdentity(fields) || len(fields) > 1 && fields[0] == "metadata" && fields[1] == "creationTimestamp"
}

// seesManagedFields reports whether what the fields lead to is managedFields, or has them.
func seesManagedFields(fields []string, by string) bool {
	switch {
	case by == nullCheck:
		return false
	case len(fields) == 0:
		return !slices.Contains(notManaged, by)
	case fields[0] != "metadata":
		return false
	}
	return len(fields) == 1 || fields[1] == "managedFields"
}
