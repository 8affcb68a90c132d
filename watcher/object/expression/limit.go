package expression

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

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

// budget is what one evaluation may cost, as for one expression in Kubernetes: a
// second in the worst case, and some ten MB. A step costs one, and one more for each
// ten bytes of text or each item of a list that it goes through or makes.
const budget = 1_000_000

const (
	// maxRange is how many numbers lists.range() makes.
	maxRange = 100_000
	// maxRegex is how many instructions a regular expression may take.
	maxRegex = 1000
	// bytesPerUnit is how much text one unit pays for.
	bytesPerUnit = 10
)

// costs counts what calls cost, in the place of CEL's own estimates, which believe that
// what they do not know costs nothing.
type costs struct{ e *environment }

// CallCost implements cost.ActualCostEstimator. It is asked after the call.
func (c costs) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	var units uint64
	if growth, grows := c.e.growth[function]; grows {
		units, _ = growth(args)
		units += weight(result)
	} else {
		units = callWeight(function, args, result)
	}
	if units == 0 {
		return &free
	}
	units++
	return &units
}

var free uint64 = 1 // of what costs nothing but the step

// callWeight is what a call goes through or makes.
func callWeight(function string, args []ref.Val, result ref.Val) (units uint64) {
	switch function {
	case operators.Equals, operators.NotEquals:
		return min(textWeight(args[0]), textWeight(args[1]))
	case operators.In:
		if list, ok := args[1].(traits.Lister); ok {
			return weight(list) + textWeight(args[0])
		}
		return 0
	case operators.Add:
		if _, list := result.(traits.Lister); list { // it refers to both
			return 0
		}
		return weight(result)
	case overloads.StartsWith, overloads.EndsWith:
		return weight(args[len(args)-1])
	case overloads.Size:
		if _, text := args[0].(types.String); !text {
			return 0
		}
	}
	for _, arg := range args {
		units += weight(arg)
	}
	return units + weight(result)
}

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

func length(v traits.Sizer) uint64 {
	if n, ok := v.Size().(types.Int); ok && n > 0 {
		return uint64(n)
	}
	return 0
}

// growth says, before a call, what it will cost at most; for functions whose cost is no
// matter of the sizes of what they are given.
type growth func(args []ref.Val) (units uint64, err error)

// growths returns the functions that could take much in one step.
func (e *environment) growths() map[string]growth {
	return map[string]growth{
		"replace":         growReplace,
		"join":            growJoin,
		"format":          growFormat,
		"flatten":         func(args []ref.Val) (uint64, error) { return deepWeight(args[0], 0, budget+1, false), nil },
		"distinct":        func(args []ref.Val) (uint64, error) { return pairs(args[0], args[0]), nil },
		"hasOnly":         growPairs,
		"hasAny":          growPairs,
		"hasAll":          growPairs,
		"hasExactly":      growPairs,
		"sets.contains":   growPairs,
		"sets.equivalent": growPairs,
		"sets.intersects": growPairs,
		jsonPathFunction:  e.growJSONPath,
		overloads.Matches: e.growRegex,
		"regex.extract":   e.growRegex,
		"regex.extractAll": func(args []ref.Val) (uint64, error) { // each character may be a match, with its indexes
			units, err := e.growRegex(args)
			return units + 3*textLength(args[0]), err
		},
		"regex.replace": func(args []ref.Val) (uint64, error) {
			units, err := e.growRegex(args)
			if len(args) > 2 { // each match may be put in for each group that is named
				units += (textLength(args[0]) + 1) * (textLength(args[2]) + 1) / bytesPerUnit
			}
			return units, err
		},
	}
}

func textLength(v ref.Val) uint64 {
	text, _ := v.(types.String)
	return uint64(len(text))
}

func growReplace(args []ref.Val) (uint64, error) {
	text, _ := args[0].(types.String)
	if len(args) < 3 {
		return 0, nil
	}
	old, _ := args[1].(types.String)
	return (uint64(len(text)) + uint64(strings.Count(string(text), string(old)))*textLength(args[2])) / bytesPerUnit, nil
}

func growJoin(args []ref.Val) (uint64, error) {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0, nil
	}
	units := deepWeight(list, 0, budget+1, true)
	if len(args) > 1 {
		units += length(list) * textLength(args[1]) / bytesPerUnit
	}
	return units, nil
}

// growFormat counts each argument once for its verb, and each verb for what it may pad.
func growFormat(args []ref.Val) (uint64, error) {
	text, _ := args[0].(types.String)
	units := uint64(len(text)) + 50*uint64(strings.Count(string(text), "%"))
	if len(args) > 1 {
		units += deepWeight(args[1], 0, budget+1, true)
	}
	return units, nil
}

func growPairs(args []ref.Val) (uint64, error) {
	if len(args) < 2 {
		return 0, nil
	}
	return pairs(args[0], args[1]), nil
}

// pairs is what it costs to compare all items of two lists.
func pairs(a, b ref.Val) uint64 { return weight(a) * (weight(b) + 1) / 4 }

// maxNesting is how deep values are looked into to weigh them.
const maxNesting = 1000

// deepWeight is the size of a value with all that is in it, each time that it is in it,
// up to limit. Without text only items count.
func deepWeight(v ref.Val, depth int, limit uint64, text bool) uint64 {
	if depth > maxNesting {
		return limit
	}
	units := uint64(1)
	switch v := v.(type) {
	case *lazyMap, *lazyList:
		if text {
			return textWeight(v)
		}
	case types.String, types.Bytes:
		if text {
			units += weight(v)
		}
		return units
	}
	switch v := v.(type) {
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && units < limit; {
			units += deepWeight(it.Next(), depth+1, limit, text)
		}
	case traits.Mapper:
		if !text {
			return units
		}
		for it := v.Iterator(); it.HasNext() == types.True && units < limit; {
			key := it.Next()
			value, _ := v.Find(key)
			units += deepWeight(key, depth+1, limit, text) + deepWeight(value, depth+1, limit, text)
		}
	}
	return units
}

// growRegex counts the steps of a match: instructions for each character, of which
// many take as long as anything else.
func (e *environment) growRegex(args []ref.Val) (uint64, error) {
	if len(args) < 2 {
		return 0, nil
	}
	pattern, _ := args[1].(types.String)
	compiled := e.regexes.get(string(pattern))
	return (textLength(args[0]) + 1) * uint64(compiled.size) / (2 * bytesPerUnit), compiled.err
}

// regexes are compiled regular expressions, by their text.
type regexes struct {
	mu    sync.Mutex
	known map[string]compiledRegex
}

type compiledRegex struct {
	*regexp.Regexp
	size int
	err  error
}

// maxRegexes is how many are kept: all that an expression has, not all that it makes
// of objects.
const maxRegexes = 100

func (r *regexes) get(pattern string) compiledRegex {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, there := r.known[pattern]
	if there {
		return c
	}
	if c.size, c.err = types.RegexProgramSize(pattern); c.err == nil && c.size > maxRegex {
		c.err = fmt.Errorf("%w: a regular expression of %d instructions, and %d is the most", errTooLong, c.size, maxRegex)
	} else if c.err == nil {
		c.Regexp, c.err = regexp.Compile(pattern)
	}
	if len(r.known) >= maxRegexes || r.known == nil {
		r.known = map[string]compiledRegex{}
	}
	r.known[pattern] = c
	return c
}

// matches is matches() with expressions that are compiled once.
func (e *environment) matches(args ...ref.Val) ref.Val {
	text, isText := args[0].(types.String)
	pattern, isPattern := args[1].(types.String)
	if !isText || !isPattern {
		return types.WrapErr(errWrongType)
	}
	compiled := e.regexes.get(string(pattern))
	if compiled.err != nil {
		return types.WrapErr(compiled.err)
	}
	return types.Bool(compiled.MatchString(string(text)))
}

// implementations returns what runs each function that could take much in one step.
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

// bounded returns a call that counts what it will cost before it does anything; nil for
// a function that need not.
func (e *environment) bounded(call interpreter.InterpretableCall) interpreter.InterpretableCall {
	grow, ok := e.growth[call.Function()]
	if !ok {
		return nil
	}
	run, ok := e.operations[call.OverloadID()]
	if !ok {
		run = e.operations[call.Function()]
	}
	if call.Function() == overloads.Matches {
		run = e.matches
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		units, err := grow(args)
		switch {
		case err != nil:
			return types.WrapErr(err)
		case units > budget:
			panic(cost.LimitExceededError{}) // which ends the evaluation: Program.Eval recovers
		}
		return run(args...)
	})
}
