package expression

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"k8s.io/client-go/util/jsonpath"
)

// jsonPathFunction is behind jsonpath(), whose path was parsed with the expression.
const jsonPathFunction = "@jsonpath"

// jsonPath is a path as kubectl takes it. It may be used by several goroutines.
type jsonPath struct {
	*jsonpath.JSONPath
	// growth is how many times at most it goes through an object.
	growth uint64
}

var errNoPath = errors.New("it is no path such as .status.phase or {.status.phase}")

// relaxedPath matches a path in braces without the dot at its start, which kubectl accepts: {status.phase}.
var relaxedPath = regexp.MustCompile(`^\{\s*[A-Za-z_][^{}\s]*\s*\}$`)

// parseJSONPath parses a path in any of the forms that kubectl wait accepts: {.a.b}, {a.b}, .a.b and a.b.
func parseJSONPath(text string) (*jsonPath, error) {
	if relaxedPath.MatchString(text) && text != "{end}" {
		text = "{." + strings.TrimSpace(text[1:])
	}
	if !strings.HasPrefix(text, "{") {
		text = "{." + strings.TrimPrefix(text, ".") + "}"
	}
	parsed, err := jsonpath.Parse("path", text)
	if err != nil {
		return nil, err
	}
	if len(parsed.Root.Nodes) != 1 {
		return nil, errNoPath
	}
	path := &jsonPath{JSONPath: jsonpath.New("path").AllowMissingKeys(true), growth: growthOf(parsed.Root)}
	if path.growth == 0 {
		return nil, errNoPath
	}
	return path, path.Parse(text)
}

// deepness stands for how deep objects are.
const deepness = 20

// growthOf returns how many times at most a part of a path goes through what is below it;
// 0 for what is no path.
func growthOf(node jsonpath.Node) uint64 {
	times := uint64(1)
	switch node := node.(type) {
	case *jsonpath.ListNode:
		if len(node.Nodes) == 0 {
			return 0
		}
		for _, n := range node.Nodes {
			times = min(times*growthOf(n), budget)
		}
	case *jsonpath.UnionNode:
		times = 0
		for _, n := range node.Nodes {
			times += growthOf(n)
		}
	case *jsonpath.FilterNode:
		times = growthOf(node.Left) + max(growthOf(node.Right), 1)
	case *jsonpath.RecursiveNode:
		times = deepness
	case *jsonpath.IdentifierNode, *jsonpath.TextNode:
		times = 0
	}
	return times
}

func (e *environment) jsonPathOptions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function(jsonPathFunction, cel.Overload("jsonpath_dyn_string", []*cel.Type{cel.DynType, cel.StringType}, cel.ListType(cel.StringType), cel.BinaryBinding(e.jsonPath))),
		cel.Macros(cel.GlobalVarArgMacro("jsonpath", e.expandJSONPath)),
	}
}

func (e *environment) expandJSONPath(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if len(args) != 2 {
		return nil, f.NewError(here(f), "jsonpath() takes an object and a path: jsonpath(object, '.status.phase')")
	}
	text, ok := literal(args[1])
	if !ok {
		return nil, f.NewError(args[1].ID(), "jsonpath() takes a path in quotes: jsonpath(object, '.status.phase')")
	}
	path, err := parseJSONPath(text)
	if err != nil {
		return nil, f.NewError(args[1].ID(), "path \""+text+"\": "+err.Error())
	}
	e.paths.Store(types.String(text), path)
	return f.NewCall(jsonPathFunction, args...), nil
}

// jsonPath returns what is found in an object, as texts.
func (e *environment) jsonPath(v, text ref.Val) ref.Val {
	if v == types.NullValue {
		return missing()
	}
	m, isObject := v.(*lazyMap)
	path, known := e.paths.Load(text)
	if !isObject || m.of == nil || !known {
		return types.WrapErr(errWrongType)
	}
	u, err := m.of.open()
	if err != nil {
		return types.WrapErr(err)
	}
	texts := []string{}
	lists, _ := path.(*jsonPath).FindResults(u.Object)
	for _, values := range lists {
		for _, value := range values {
			var b bytes.Buffer
			if path.(*jsonPath).PrintResults(&b, []reflect.Value{value}) == nil {
				texts = append(texts, b.String())
			}
		}
	}
	return types.NewStringList(types.DefaultTypeAdapter, texts)
}

func (e *environment) growJSONPath(args []ref.Val) uint64 {
	path, known := e.paths.Load(args[1])
	if !known {
		return 0
	}
	return min((textWeight(args[0])+1)*path.(*jsonPath).growth, budget+1)
}
