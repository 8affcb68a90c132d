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

// jsonPathFunction is the function that the macro jsonpath() expands to.
const jsonPathFunction = "@jsonpath"

// jsonPath is a JSONPath expression as kubectl accepts it. It is safe for concurrent use.
type jsonPath struct {
	*jsonpath.JSONPath
	visits uint64 // maximum number of passes through the object
}

var errNoPath = errors.New("not a path such as .status.phase or {.status.phase}")

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
	path := &jsonPath{JSONPath: jsonpath.New("path").AllowMissingKeys(true), visits: maxVisits(parsed.Root)}
	if path.visits == 0 {
		return nil, errNoPath
	}
	return path, path.Parse(text)
}

// assumedDepth is the depth of objects that maxVisits assumes for "..".
const assumedDepth = 20

// maxVisits returns how many times a node of a path visits the values below it at most. It
// returns 0 for nodes that are not allowed in a path, such as text.
func maxVisits(node jsonpath.Node) uint64 {
	times := uint64(1)
	switch node := node.(type) {
	case *jsonpath.ListNode:
		if len(node.Nodes) == 0 {
			return 0
		}
		for _, n := range node.Nodes {
			times = min(times*maxVisits(n), budget)
		}
	case *jsonpath.UnionNode:
		times = 0
		for _, n := range node.Nodes {
			times += maxVisits(n)
		}
	case *jsonpath.FilterNode:
		times = maxVisits(node.Left) + max(maxVisits(node.Right), 1)
	case *jsonpath.RecursiveNode:
		times = assumedDepth
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
		return nil, f.NewError(macroID(f), "jsonpath() takes an object and a path: jsonpath(object, '.status.phase')")
	}
	text, ok := stringLiteral(args[1])
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

// jsonPath implements jsonpath(): it returns the values at the path as strings.
func (e *environment) jsonPath(v, text ref.Val) ref.Val {
	if v == types.NullValue {
		return missing()
	}
	m, isObject := v.(*lazyMap)
	path, known := e.paths.Load(text)
	if !isObject || m.state == nil || !known {
		return types.WrapErr(errWrongType)
	}
	u, err := m.state.decodeWhole()
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

func (e *environment) boundJSONPath(args []ref.Val) uint64 {
	path, known := e.paths.Load(args[1])
	if !known {
		return 0
	}
	return min((textWeight(args[0])+1)*path.(*jsonPath).visits, budget+1)
}
