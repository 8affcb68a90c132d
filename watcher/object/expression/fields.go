package expression

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"dwatch/watcher/object/change"
)

// Fields returns the fields of objects that the expression looks at, as far as it names them.
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
			if f, of := rootOf(e); of {
				add(climb(e, f))
			}
		case ast.CallKind:
			add(takenBy(e.AsCall()))
		}
		return false
	})
	return all
}

// Changed returns the patterns of which the expression asks whether what they name changed.
func (x *Expression) ChangedPatterns() (all change.Patterns) {
	ast.MatchDescendants(ast.NavigateAST(x.ast.NativeRep()), func(e ast.NavigableExpr) bool {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == changedFunction {
			text, _ := literal(e.AsCall().Args()[1])
			if p, err := change.ParsePattern(text); err == nil {
				all = append(all, p)
			}
		}
		return false
	})
	return all
}

// takenBy returns the fields in the path that a function takes. Not all that JSONPath can is a path.
func takenBy(call ast.CallExpr) change.FieldPath {
	if name := call.FunctionName(); name != changedFunction && name != jsonPathFunction {
		return nil
	}
	text, _ := literal(call.Args()[1])
	p, err := change.ParsePattern(text)
	if err != nil {
		return nil
	}
	return p.FieldPath()
}

// rootOf returns the fields that a variable stands for: none of an object, and of an item in a
// macro such as exists() those that lead to it.
func rootOf(e ast.NavigableExpr) (change.FieldPath, bool) {
	name := e.AsIdent()
	below := e
	for parent, ok := e.Parent(); ok; parent, ok = parent.Parent() {
		from := below
		below = parent
		if parent.Kind() != ast.ComprehensionKind || from.ID() == parent.AsComprehension().IterRange().ID() {
			continue // it is no variable of the macro where that takes its items from
		}
		c := parent.AsComprehension()
		item := c.IterVar()
		if c.HasIterVar2() {
			if item == name {
				return nil, false // an index, or a key
			}
			item = c.IterVar2()
		}
		switch name {
		case item:
			over, known := leadsTo(c.IterRange().(ast.NavigableExpr))
			return append(over, change.AnyField), known
		case c.AccuVar():
			return nil, false
		}
	}
	return nil, name == objectVariable || name == oldVariable
}

// leadsTo returns the fields that an expression selects, if it does nothing else.
func leadsTo(e ast.NavigableExpr) (change.FieldPath, bool) {
	children := e.Children()
	switch e.Kind() {
	case ast.IdentKind:
		return rootOf(e)
	case ast.SelectKind:
		f, known := leadsTo(children[0])
		return append(f, e.AsSelect().FieldName()), known
	case ast.CallKind:
		step, selects := selectedBy(e.AsCall())
		if !selects {
			return nil, false
		}
		f, known := leadsTo(children[0])
		return append(f, step), known
	}
	return nil, false
}

// climb adds to f what is selected of e, one in the other.
func climb(e ast.NavigableExpr, f change.FieldPath) change.FieldPath {
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
			step, selects := selectedBy(parent.AsCall())
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

// selectedBy returns what a call selects of its first argument; false for one that does not.
func selectedBy(call ast.CallExpr) (step string, selects bool) {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		if name, ok := literal(call.Args()[1]); ok {
			return name, true
		}
		return change.AnyField, true
	}
	return "", false
}
