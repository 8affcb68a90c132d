package expression

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"dwatch/watcher/object/change"
)

// FieldPaths returns the paths of object fields that the expression reads. Fields whose names are computed are missing.
func (x *Expression) FieldPaths() (all []change.FieldPath) {
	add := func(f change.FieldPath) {
		for len(f) > 0 && f[len(f)-1] == change.AnyField {
			f = f[:len(f)-1]
		}
		if len(f) > 0 && !slices.ContainsFunc(all, func(o change.FieldPath) bool { return slices.Equal(o, f) }) {
			all = append(all, f)
		}
	}
	ast.MatchDescendants(ast.NavigateAST(x.ast.NativeRep()), func(e ast.NavigableExpr) bool {
		switch e.Kind() {
		case ast.IdentKind:
			if f, known := variablePath(e); known {
				add(extendPath(e, f))
			}
		case ast.CallKind:
			add(argumentPath(e.AsCall()))
		}
		return false
	})
	return all
}

// ChangedPatterns returns the arguments of all changed() calls.
func (x *Expression) ChangedPatterns() (all change.Patterns) {
	ast.MatchDescendants(ast.NavigateAST(x.ast.NativeRep()), func(e ast.NavigableExpr) bool {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == changedFunction {
			text, _ := stringLiteral(e.AsCall().Args()[1])
			if p, err := change.ParsePattern(text); err == nil {
				all = append(all, p)
			}
		}
		return false
	})
	return all
}

// argumentPath returns the path in the argument of changed() or jsonpath(). It is nil for other functions and for
// JSONPath expressions that are not valid patterns.
func argumentPath(call ast.CallExpr) change.FieldPath {
	if name := call.FunctionName(); name != changedFunction && name != jsonPathFunction {
		return nil
	}
	text, _ := stringLiteral(call.Args()[1])
	p, err := change.ParsePattern(text)
	if err != nil {
		return nil
	}
	return p.FieldPath()
}

// variablePath returns the path of the value of a variable. The path of object and old is
// empty. The path of an item variable in a macro such as exists() leads to the items.
func variablePath(e ast.NavigableExpr) (path change.FieldPath, known bool) {
	name := e.AsIdent()
	below := e
	for parent, ok := e.Parent(); ok; parent, ok = parent.Parent() {
		from := below
		below = parent
		if parent.Kind() != ast.ComprehensionKind || from.ID() == parent.AsComprehension().IterRange().ID() {
			continue // the variables of the macro do not exist in its range
		}
		c := parent.AsComprehension()
		item := c.IterVar()
		if c.HasIterVar2() {
			if item == name {
				return nil, false // an index or a key
			}
			item = c.IterVar2()
		}
		switch name {
		case item:
			items, known := expressionPath(c.IterRange().(ast.NavigableExpr))
			return append(items, change.AnyField), known
		case c.AccuVar():
			return nil, false
		}
	}
	return nil, name == objectVariable || name == oldVariable
}

// expressionPath returns the path that an expression selects. It is unknown if the expression does anything else.
func expressionPath(e ast.NavigableExpr) (path change.FieldPath, known bool) {
	children := e.Children()
	switch e.Kind() {
	case ast.IdentKind:
		return variablePath(e)
	case ast.SelectKind:
		f, known := expressionPath(children[0])
		return append(f, e.AsSelect().FieldName()), known
	case ast.CallKind:
		step, selects := selectedField(e.AsCall())
		if !selects {
			return nil, false
		}
		f, known := expressionPath(children[0])
		return append(f, step), known
	}
	return nil, false
}

// extendPath appends to f the fields that the parents of e select, starting at e.
func extendPath(e ast.NavigableExpr, f change.FieldPath) change.FieldPath {
	f = slices.Clone(f)
	for {
		parent, ok := e.Parent()
		if !ok {
			return f
		}
		switch parent.Kind() {
		case ast.SelectKind:
			f = append(f, parent.AsSelect().FieldName())
		case ast.CallKind:
			step, selects := selectedField(parent.AsCall())
			if !selects || parent.AsCall().Args()[0].ID() != e.ID() {
				return f
			}
			f = append(f, step)
		default:
			return f
		}
		e = parent
	}
}

// selectedField returns the field that a call selects from its first argument. selects is false for other calls.
func selectedField(call ast.CallExpr) (step string, selects bool) {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		if name, ok := stringLiteral(call.Args()[1]); ok {
			return name, true
		}
		return change.AnyField, true
	}
	return "", false
}
