package expression

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// budget is what one evaluation may cost, as in Kubernetes: a second in the worst case, and
// some ten MB. A step costs one, and one more for each ten bytes or item that it goes through.
const budget = 1_000_000

const (
	maxRange     = 100_000 // numbers that lists.range() makes
	maxRegex     = 1000    // instructions of a regular expression
	bytesPerUnit = 10      // of text
	maxNesting   = 1000    // levels of a value that are weighed
	maxRegexes   = 100     // kept compiled: those of expressions, not all that they make of objects
)

// costs counts what a call has cost where CEL has no count of its own, and believes that
// it costs nothing.
type costs struct{ growths map[string]growth }

// CallCost implements cost.ActualCostEstimator. It is asked after the call.
func (c costs) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	if len(args) == 0 {
		return &step
	}
	units := 1 + weight(result)
	_, resultIsList := result.(traits.Lister)
	_, firstIsText := args[0].(types.String)
	grow, grows := c.growths[function]
	switch {
	case grows:
		units += grow(args)
	case function == operators.Equals || function == operators.NotEquals:
		units += min(textWeight(args[0]), textWeight(args[1]))
	case function == operators.In:
		units += weight(args[1]) * (1 + textWeight(args[0]))
	case function == operators.Add && resultIsList: // it refers to both
		units = 1
	case function == overloads.StartsWith, function == overloads.EndsWith:
		units += weight(args[1])
	case function == overloads.Size && !firstIsText:
	default:
		for _, arg := range args {
			units += weight(arg)
		}
	}
	if units == 1 {
		return &step
	}
	return &units
}

var step uint64 = 1

// weight is the size of a text or list, not of what is in it.
func weight(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		return uint64(len(v)) / bytesPerUnit
	case traits.Lister:
		return length(v)
	}
	return 0
}

// textWeight is weight, but of an object or list that is not decoded that of its text.
func textWeight(v ref.Val) uint64 {
	switch v := v.(type) {
	case *lazyMap:
		return uint64(len(v.text)) / bytesPerUnit
	case *lazyList:
		return uint64(len(v.text)) / bytesPerUnit
	case traits.Mapper:
		return length(v)
	}
	return weight(v)
}

// deepWeight is the size of a value with all that is in it, each time that it is in it,
// as far as there is budget for that.
func deepWeight(v ref.Val, depth int) uint64 {
	units := 1 + textWeight(v)
	switch v := v.(type) {
	case *lazyMap, *lazyList:
		return units
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && units <= budget; {
			units += deepWeight(it.Next(), depth+1)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && units <= budget; {
			key := it.Next()
			value, _ := v.Find(key)
			units += deepWeight(key, depth+1) + deepWeight(value, depth+1)
		}
	}
	if depth > maxNesting {
		return budget + 1
	}
	return units
}

func length(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String: // in bytes
		return uint64(len(v))
	case traits.Sizer:
		n, _ := v.Size().(types.Int)
		return uint64(max(n, 0))
	}
	return 0
}

// growth says, before a call, what it will cost at most.
type growth func(args []ref.Val) (units uint64)

// newGrowths returns the functions that could take much in one step, whatever the sizes of
// what they are given: what they make has to be known before.
func (e *environment) newGrowths() map[string]growth {
	pairs := func(args []ref.Val) uint64 { // all items of two lists are compared
		return weight(args[0]) * (weight(args[len(args)-1]) + 1) / 4
	}
	return map[string]growth{
		"distinct": pairs, "hasOnly": pairs, "hasAny": pairs, "hasAll": pairs, "hasExactly": pairs,
		"sets.contains": pairs, "sets.equivalent": pairs, "sets.intersects": pairs,

		"flatten": func(args []ref.Val) uint64 { return deepWeight(args[0], 0) },
		"replace": func(args []ref.Val) uint64 {
			text, _ := args[0].(types.String)
			old, _ := args[1].(types.String)
			return (length(text) + uint64(strings.Count(string(text), string(old)))*length(args[2])) / bytesPerUnit
		},
		"join": func(args []ref.Val) (units uint64) {
			for _, separator := range args[1:] {
				units = weight(args[0]) * length(separator) / bytesPerUnit
			}
			return units + deepWeight(args[0], 0)
		},
		"format": func(args []ref.Val) uint64 { // a verb may pad
			text, _ := args[0].(types.String)
			return length(text) + 50*uint64(strings.Count(string(text), "%")) + deepWeight(args[1], 0)
		},

		jsonPathFunction: e.growJSONPath,

		overloads.Matches: e.steps,
		"regex.extract":   e.steps,
		// Each character may be a match, with its indexes.
		"regex.extractAll": func(args []ref.Val) uint64 { return e.steps(args) + 3*length(args[0]) },
		// Each match may be put in for each group that is named.
		"regex.replace": func(args []ref.Val) uint64 {
			return e.steps(args) + (length(args[0])+1)*(length(args[2])+1)/bytesPerUnit
		},
	}
}

// steps counts those of a match: instructions for each character, of which many take as
// long as anything else.
func (e *environment) steps(args []ref.Val) uint64 {
	size := e.regex(args[1]).size
	if size > maxRegex {
		return budget + 1
	}
	return (length(args[0]) + 1) * uint64(size) / (2 * bytesPerUnit)
}

// regex is a regular expression; nil if it is none, or too large.
type regex struct {
	*regexp.Regexp
	size int // instructions
}

func (e *environment) regex(pattern ref.Val) (r regex) {
	text, _ := pattern.(types.String)
	if known, ok := e.regexes.Get(text); ok {
		return known.(regex)
	}
	var err error
	if r.size, err = types.RegexProgramSize(string(text)); err == nil && r.size <= maxRegex {
		r.Regexp, _ = regexp.Compile(string(text))
	}
	e.regexes.Add(text, r)
	return r
}

// matches is matches() with expressions that are compiled once.
func (e *environment) matches(args ...ref.Val) ref.Val {
	text, isText := args[0].(types.String)
	_, isPattern := args[1].(types.String)
	if !isText || !isPattern {
		return types.WrapErr(errWrongType)
	}
	if r := e.regex(args[1]); r.Regexp != nil {
		return types.Bool(r.MatchString(string(text)))
	}
	return types.NewErrFromString("invalid regular expression")
}

// implementations returns what runs each function that could take much, by overload.
func implementations(env *cel.Env, growths map[string]growth) (map[string]functions.FunctionOp, error) {
	found := map[string]functions.FunctionOp{}
	for name := range growths {
		bindings, err := env.Functions()[name].Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			found[b.Operator] = operation(b)
		}
	}
	return found, nil
}

// operation returns the function of a binding, for any number of arguments.
func operation(b *functions.Overload) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		switch {
		case len(args) == 1 && b.Unary != nil:
			return b.Unary(args[0])
		case len(args) == 2 && b.Binary != nil:
			return b.Binary(args[0], args[1])
		case b.Function != nil:
			return b.Function(args...)
		}
		return types.WrapErr(errWrongType)
	}
}

// bounded returns a call that counts what it will cost, if it could be much, before it runs.
func (e *environment) bounded(call interpreter.InterpretableCall) interpreter.InterpretableCall {
	grow, ok := e.growths[call.Function()]
	if !ok {
		return call
	}
	run, ok := e.operations[call.OverloadID()]
	switch {
	case call.Function() == overloads.Matches:
		run = e.matches
	case !ok:
		run = e.operations[call.Function()]
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		if grow(args) > budget {
			panic(cost.LimitExceededError{}) // which ends the evaluation: Program.Eval recovers
		}
		return run(args...)
	})
}
