package expression

import (
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"
	"k8s.io/utils/lru"
)

// Limits on the text of an expression, checked by Compile.
const (
	maxText  = 16 << 10 // characters
	maxDepth = 100      // nesting of brackets and operators
	maxNodes = 10_000   // of the AST, after macro expansion
	// maxRecovery is how often the parser continues after an error. Only one error is reported.
	maxRecovery = 2
)

// environment is the CEL environment of all expressions, with the state that their functions share.
type environment struct {
	*cel.Env
	costBounds map[string]costBound
	operations map[string]functions.FunctionOp // by overload or function name
	regexes    *lru.Cache                      // regex by its text
	patterns   sync.Map                        // change.Pattern by its text, for changed()
	paths      sync.Map                        // *jsonPath by its text, for jsonpath()
}

// sharedEnvironment returns the environment, which is created when the first expression is compiled.
var sharedEnvironment = sync.OnceValues(newEnvironment)

func newEnvironment() (*environment, error) {
	e := &environment{regexes: lru.New(maxRegexes)}
	var options []cel.EnvOption
	for _, some := range [][]cel.EnvOption{limits(), libraries(), variables(), quantityOptions(), e.objectOptions(), e.jsonPathOptions()} {
		options = append(options, some...)
	}
	options = append(options, // last, because they wrap the adapter and provider that other options set
		func(e *cel.Env) (*cel.Env, error) { return cel.CustomTypeAdapter(adapter{e.CELTypeAdapter()})(e) },
		func(e *cel.Env) (*cel.Env, error) { return cel.CustomTypeProvider(provider{e.CELTypeProvider()})(e) })
	var err error
	if e.Env, err = cel.NewEnv(options...); err != nil {
		return nil, err
	}
	e.costBounds = e.newCostBounds()
	e.operations, err = implementations(e.Env, e.costBounds)
	return e, err
}

// limits returns options that limit the text of expressions, and that validate literals when they are compiled.
func limits() []cel.EnvOption {
	return []cel.EnvOption{
		cel.ParserExpressionSizeLimit(maxText),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserErrorRecoveryLimit(maxRecovery),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ASTValidators(
			cel.ValidateRegexLiterals(), cel.ValidateRegexProgramSizeLimit(maxRegex),
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
		),
	}
}

func libraries() []cel.EnvOption {
	return []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Lists(ext.ListsMaxRangeSize(maxRange)),
		ext.Sets(),
		ext.Math(),
		ext.Regex(),
		ext.Network(),
	}
}

func variables() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable(typeVariable, cel.StringType),
		cel.Variable(objectVariable, cel.DynType),
		cel.Variable(oldVariable, cel.DynType),
		cel.Variable(changesVariable, cel.ListType(cel.ObjectType(changeType))),
		cel.Variable(managersVariable, cel.ListType(cel.StringType)),
		cel.Variable(timeVariable, cel.TimestampType),
		cel.Variable(initialVariable, cel.BoolType),
		cel.Variable(clusterVariable, cel.StringType),
		cel.Variable(comparisonVariable, cel.DynType),
		cel.Variable(nowVariable, cel.TimestampType),
	}
}

// program creates the evaluator of a checked expression, with cost tracking and explained errors.
func (e *environment) program(checked *cel.Ast) (cel.Program, error) {
	return e.Program(checked,
		cel.CostLimit(budget),
		cel.CostTracking(costEstimator{e.costBounds}),
		cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
			if call, ok := i.(interpreter.InterpretableCall); ok {
				return &explainedCall{e.bounded(call)}, nil
			}
			return i, nil
		}))
}
