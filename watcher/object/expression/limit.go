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

// budget is the maximum cost of one evaluation, in the units that Kubernetes uses: well below a
// second, and at most some hundred MB, as a test checks. Each step costs 1, plus 1 for each 10 bytes or each item that it processes.
const budget = 1_000_000

const (
	maxRange     = 100_000 // numbers that lists.range() can return
	maxRegex     = 1000    // instructions of a regular expression
	bytesPerUnit = 10      // bytes of text that cost 1
	maxNesting   = 1000    // depth to which deepWeight descends
	maxRegexes   = 100     // size of the cache of compiled regular expressions
)

// costEstimator gives the actual cost of calls, because CEL's own counts miss many functions.
type costEstimator struct{ bounds map[string]costBound }

// CallCost implements cost.ActualCostEstimator. CEL calls it after the call.
func (c costEstimator) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	if len(args) == 0 {
		return &step
	}
	units := 1 + weight(result)
	_, resultIsList := result.(traits.Lister)
	_, firstIsText := args[0].(types.String)
	bound, bounded := c.bounds[function]
	switch {
	case bounded:
		units += bound(args)
	case function == operators.Equals || function == operators.NotEquals:
		units += min(textWeight(args[0]), textWeight(args[1]))
	case function == operators.In:
		units += weight(args[1]) * (1 + textWeight(args[0]))
	case function == operators.Add && resultIsList: // the result refers to both lists and copies nothing
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

// weight returns the cost of processing a string, bytes or a list without its items.
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

// textWeight is like weight, but returns the cost of the JSON text for lazy objects and lists.
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

// deepWeight returns the cost of a value including all nested values. It stops when the budget
// is exceeded. Values that occur several times are counted each time.
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

// length returns the number of bytes of a string, or the number of items of a list or map.
func length(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case traits.Sizer:
		n, _ := v.Size().(types.Int)
		return uint64(max(n, 0))
	}
	return 0
}

// costBound returns an upper bound for the cost of a call before it runs.
type costBound func(args []ref.Val) (units uint64)

// newCostBounds returns the bounds of all functions that can be expensive even with small
// arguments. CEL only checks the limit after a call, which is too late for them.
func (e *environment) newCostBounds() map[string]costBound {
	pairs := func(args []ref.Val) uint64 { // each item is compared with each item of the other list
		return weight(args[0]) * (weight(args[len(args)-1]) + 1) / 4
	}
	return map[string]costBound{
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
		"format": func(args []ref.Val) uint64 { // each verb can add padding
			text, _ := args[0].(types.String)
			return length(text) + 50*uint64(strings.Count(string(text), "%")) + deepWeight(args[1], 0)
		},

		jsonPathFunction: e.boundJSONPath,

		overloads.Matches: e.regexSteps,
		"regex.extract":   e.regexSteps,
		// Each character can be a match, which has several indexes.
		"regex.extractAll": func(args []ref.Val) uint64 { return e.regexSteps(args) + 3*length(args[0]) },
		// Each reference to a group in the replacement can insert the match.
		"regex.replace": func(args []ref.Val) uint64 {
			return e.regexSteps(args) + (length(args[0])+1)*(length(args[2])+1)/bytesPerUnit
		},
	}
}

// regexSteps bounds the cost of matching a regular expression: each character can execute all
// instructions. An instruction is much cheaper than a step of CEL.
func (e *environment) regexSteps(args []ref.Val) uint64 {
	size := e.regex(args[1]).size
	if size > maxRegex {
		return budget + 1
	}
	return (length(args[0]) + 1) * uint64(size) / (2 * bytesPerUnit)
}

// regex is a compiled regular expression. Regexp is nil if the pattern is invalid or too large.
type regex struct {
	*regexp.Regexp
	size int // in instructions
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

// matches implements matches() with a cache of compiled regular expressions.
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

// implementations returns the implementation of each overload of the functions in bounds.
func implementations(env *cel.Env, bounds map[string]costBound) (map[string]functions.FunctionOp, error) {
	found := map[string]functions.FunctionOp{}
	for name := range bounds {
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

// operation returns the implementation of an overload as a function with any number of arguments.
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

// bounded wraps a call so that the evaluation ends before the call if its cost bound exceeds
// the budget. Calls without a bound are returned as they are.
func (e *environment) bounded(call interpreter.InterpretableCall) interpreter.InterpretableCall {
	bound, ok := e.costBounds[call.Function()]
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
		if bound(args) > budget {
			panic(cost.LimitExceededError{}) // Program.Eval recovers and returns it
		}
		return run(args...)
	})
}
