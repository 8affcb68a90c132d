package expression

import (
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"
	"k8s.io/utils/lru"
)

// Bounds of an expression's text, which is checked before anything is watched.
const (
	maxText  = 16 << 10 // characters
	maxDepth = 100      // of brackets and operators
	maxNodes = 10_000   // after macros
	// maxRecovery is how often the parser goes on after an error: the first is reported.
	maxRecovery = 2
)

// environment is what all expressions share: variables, functions, macros.
type environment struct {
	*cel.Env
	growths    map[string]growth
	operations map[string]functions.FunctionOp // by overload, or function
	regexes    *lru.Cache                      // by their text
	// patterns are those of changed(), parsed, by their text.
	patterns sync.Map
	// paths are those of jsonpath(), likewise.
	paths sync.Map
}

// sharedEnvironment is made when the first expression is compiled.
var sharedEnvironment = sync.OnceValues(newEnvironment)

func newEnvironment() (*environment, error) {
	e := &environment{regexes: lru.New(maxRegexes)}
	var options []cel.EnvOption
	for _, some := range [][]cel.EnvOption{limits(), libraries(), variables(), quantityOptions(), e.objectOptions(), e.jsonPathOptions()} {
		options = append(options, some...)
	}
	options = append(options, // the last: others change these
		func(e *cel.Env) (*cel.Env, error) { return cel.CustomTypeAdapter(adapter{e.CELTypeAdapter()})(e) },
		func(e *cel.Env) (*cel.Env, error) { return cel.CustomTypeProvider(provider{e.CELTypeProvider()})(e) })
	var err error
	if e.Env, err = cel.NewEnv(options...); err != nil {
		return nil, err
	}
	e.growths = e.newGrowths()
	e.operations, err = implementations(e.Env, e.growths)
	return e, err
}

// limits keep texts small, and find mistakes in them that a first event would show.
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

// program returns what evaluates an expression.
func (e *environment) program(checked *cel.Ast) (cel.Program, error) {
	return e.Program(checked,
		cel.CostLimit(budget),
		cel.CostTracking(costs{e.growths}),
		cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
			if call, ok := i.(interpreter.InterpretableCall); ok {
				return &explained{e.bounded(call)}, nil
			}
			return i, nil
		}))
}
