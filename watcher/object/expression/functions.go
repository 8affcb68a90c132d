package expression

import (
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/change"
	"dwatch/watcher/object/pod"
	"dwatch/watcher/object/status"
)

// Functions that the macros changed() and age() expand to. The macros add arguments that users do not write.
const (
	changedFunction = "@changed"
	ageFunction     = "@age"
)

// objectOptions declares the functions on objects that dwatch adds to CEL.
func (e *environment) objectOptions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("status", cel.Overload("status_dyn", []*cel.Type{cel.DynType}, cel.StringType, unary(func(v ref.Val) (ref.Val, error) {
			word, err := statusOf(v)
			return types.String(word), err
		}))),
		cel.Function("ready", cel.Overload("ready_dyn", []*cel.Type{cel.DynType}, cel.BoolType, unary(func(v ref.Val) (ref.Val, error) {
			word, err := statusOf(v)
			return types.Bool(word == kstatus.CurrentStatus), err
		}))),
		cel.Function("unready", cel.Overload("unready_dyn", []*cel.Type{cel.DynType}, cel.BoolType, unary(func(v ref.Val) (ref.Val, error) {
			o, err := stateOf(v)
			if err != nil {
				return nil, err
			}
			u, err := o.decodeWhole()
			return types.Bool(err == nil && status.IsUnready(u)), err
		}))),
		cel.Function(ageFunction, cel.Overload("age_dyn", []*cel.Type{cel.DynType, cel.TimestampType}, cel.DurationType, cel.BinaryBinding(ageOf))),
		cel.Function(changedFunction, cel.Overload("changed_string", []*cel.Type{cel.DynType, cel.StringType}, cel.BoolType, cel.BinaryBinding(e.changed))),
		cel.Function("evicted", cel.Overload("evicted_dyn", []*cel.Type{cel.DynType}, cel.BoolType, unary(func(v ref.Val) (ref.Val, error) {
			o, err := stateOf(v)
			if err != nil {
				return nil, err
			}
			return types.Bool(pod.IsEvicted(o.text())), nil
		}))),
		cel.Function("restarts",
			cel.Overload("restarts_dyn", []*cel.Type{cel.DynType}, cel.IntType, unary(func(v ref.Val) (ref.Val, error) {
				o, err := stateOf(v)
				if err != nil {
					return nil, err
				}
				return types.Int(pod.RestartCount(o.text())), nil
			})),
			cel.Overload("restarts_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.IntType, cel.BinaryBinding(restartsBetween))),
		cel.Macros(
			cel.GlobalVarArgMacro("now", expandNow),
			cel.GlobalVarArgMacro("age", expandAge),
			cel.GlobalVarArgMacro("changed", e.expandChanged),
		),
	}
}

// unary binds a function of one argument that can return an error.
func unary(f func(ref.Val) (ref.Val, error)) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val {
		result, err := f(v)
		if err != nil {
			return types.WrapErr(err)
		}
		return result
	})
}

func statusOf(v ref.Val) (kstatus.Status, error) {
	o, err := stateOf(v)
	if err != nil {
		return "", err
	}
	return o.status()
}

// stateOf returns the state of an argument that must be object or old.
func stateOf(v ref.Val) (*state, error) {
	if m, ok := v.(*lazyMap); ok && m.state != nil {
		return m.state, nil
	}
	if v == types.NullValue {
		return nil, errMissing
	}
	return nil, errWrongType
}

// restartsBetween implements restarts(old, object): the number of container restarts between two states of a Pod.
func restartsBetween(old, object ref.Val) ref.Val {
	before, err := stateOf(old)
	if err != nil {
		return types.WrapErr(err)
	}
	now, err := stateOf(object)
	if err != nil {
		return types.WrapErr(err)
	}
	sum := 0
	for _, r := range pod.FindRestarts(before.text(), now.text()) {
		sum += r.NewRestarts
	}
	return types.Int(sum)
}

// ageOf implements age(): the time since the creation of an object.
func ageOf(object, now ref.Val) ref.Val {
	if object == types.NullValue {
		return missing()
	}
	var created ref.Val = object
	for _, name := range []types.String{"metadata", "creationTimestamp"} {
		m, ok := created.(traits.Mapper)
		if !ok {
			return types.WrapErr(errWrongType)
		}
		if created, ok = m.Find(name); !ok || created == types.NullValue {
			return missing()
		}
	}
	text, _ := created.(types.String)
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Duration{Duration: now.(types.Timestamp).Sub(at)}
}

// changed implements changed(). expandChanged has parsed and stored the pattern.
func (e *environment) changed(c, path ref.Val) ref.Val {
	compared, ok := c.(*comparison)
	pattern, known := e.patterns.Load(path)
	if !ok || !known {
		return types.WrapErr(errWrongType)
	}
	touched, err := compared.touches(pattern.(change.Pattern))
	if err != nil {
		return missing()
	}
	return types.Bool(touched)
}

func expandNow(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if len(args) > 0 {
		return nil, f.NewError(args[0].ID(), "now() takes no arguments")
	}
	return f.NewIdent(nowVariable), nil
}

func expandAge(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if len(args) != 1 {
		return nil, f.NewError(macroID(f), "age() takes one object: age(object)")
	}
	return f.NewCall(ageFunction, args[0], f.NewIdent(nowVariable)), nil
}

func (e *environment) expandChanged(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if len(args) != 1 {
		return nil, f.NewError(macroID(f), "changed() takes one path: changed('spec.replicas')")
	}
	text, ok := stringLiteral(args[0])
	if !ok {
		return nil, f.NewError(args[0].ID(), "changed() takes a path in quotes: changed('spec.replicas')")
	}
	if rest, found := strings.CutPrefix(text, objectVariable+"."); found {
		return nil, f.NewError(args[0].ID(), "paths start below the object: changed('"+rest+"')")
	}
	pattern, err := change.ParsePattern(text)
	if err != nil {
		return nil, f.NewError(args[0].ID(), err.Error())
	}
	e.patterns.Store(types.String(text), pattern)
	return f.NewCall(changedFunction, f.NewIdent(comparisonVariable), args[0]), nil
}

// macroID returns the ID of a new node at the position of the macro, for errors.
func macroID(f cel.MacroExprFactory) int64 { return f.NewLiteral(types.NullValue).ID() }

// stringLiteral returns the value of e if it is a string literal.
func stringLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}
