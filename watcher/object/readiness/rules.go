package readiness

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
	"go.yaml.in/yaml/v3"
)

// The header of a file of rules.
const (
	APIVersion = "dwatch/v1alpha1"
	Kind       = "Readiness"
)

// Rule is what a file of rules says about some kinds. See docs/reference/readiness-rules.md.
type Rule struct {
	// Where is the file and line of the rule, such as "readiness.yaml:12".
	Where string
	// Kinds are patterns such as "Rollout.argoproj.io", "*.argoproj.io" and "Bucket.*.upbound.io".
	Kinds []string
	// Source is where the facts of the rule come from.
	Source string
	// AnyGeneration disables the check of observedGeneration, for kinds where it means something else.
	AnyGeneration bool

	failed, inProgress, ready, message *expression
}

// expressions returns the expressions that the rule has.
func (r *Rule) expressions() []*expression {
	return slices.DeleteFunc([]*expression{r.failed, r.inProgress, r.ready, r.message}, func(c *expression) bool { return c == nil })
}

// expression is an expression of a rule, which is compiled when it is first needed.
type expression struct {
	text, where string
	isTrusted   bool // the cost of an evaluation grows at most with the size of the object, so that it needs no limit
	once        sync.Once
	program     cel.Program
	err         error
}

//go:embed rules.yaml
var builtinText []byte

// builtin returns the rules that are part of dwatch.
var builtin = sync.OnceValue(func() []*Rule {
	rules, err := Parse("built-in rules", builtinText)
	if err != nil {
		panic(err) // a test reads them
	}
	for _, r := range rules {
		for _, c := range r.expressions() {
			c.isTrusted = true
		}
	}
	return rules
})

// own returns the rules of the user. They take precedence over the built-in ones.
var own atomic.Pointer[func() []*Rule]

// kindName is a kind and its group.
type kindName struct{ kind, group string }

// ruleCache has the rule of each kind that was judged; nil if there is none.
type ruleCache struct {
	sync.RWMutex
	rules map[kindName]*Rule
}

var found atomic.Pointer[ruleCache]

func init() { found.Store(&ruleCache{rules: map[kindName]*Rule{}}) }

// Use sets the rules of the user for the whole process. They take precedence over the built-in ones. Call it before the
// first object is judged.
func Use(rules []*Rule) { UseLater(func() []*Rule { return rules }) }

// UseLater is Use for rules that are read when the first custom resource is judged. load is called at most once, from
// any goroutine.
func UseLater(load func() []*Rule) {
	own.Store(new(sync.OnceValue(load)))
	found.Store(&ruleCache{rules: map[kindName]*Rule{}})
}

// DefaultFile returns the path of the user's own rules, which are read if the file exists. It is empty if the user has
// no directory for configuration.
func DefaultFile() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "dwatch", "readiness.yaml")
}

// ReadFile reads and checks a file of rules. The error has one line for each mistake, with the file and the line.
func ReadFile(path string) ([]*Rule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rules, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	return rules, Check(rules)
}

// Check compiles all expressions of the rules.
func Check(rules []*Rule) error {
	var wrong []error
	for _, r := range rules {
		for _, c := range r.expressions() {
			if err := c.compile(c != r.message); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	return errors.Join(wrong...)
}

// yamlLine matches the line in an error of the YAML library.
var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: line (\d+): `) })

// Parse reads a file of rules. It does not compile the expressions.
func Parse(path string, text []byte) ([]*Rule, error) {
	p := &parser{path: path}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: the file is empty: it needs apiVersion %s, kind %s and rules", path, APIVersion, Kind)
	case err != nil:
		if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
			return nil, fmt.Errorf("%s:%s: %s", path, m[1], strings.TrimPrefix(err.Error(), m[0]))
		}
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	rules := p.file(document.Content[0])
	return rules, errors.Join(p.wrong...)
}

type parser struct {
	path  string
	wrong []error
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Errorf("%s:%d: %s", p.path, n.Line, fmt.Sprintf(format, args...)))
}

// members calls take with each member of a mapping, and reports members that are not in names.
func (p *parser) members(n *yaml.Node, what string, names []string, take func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case seen[key.Value]:
			p.fail(key, "%s has %q twice", what, key.Value)
		case !slices.Contains(names, key.Value):
			p.fail(key, "%s has no %q: it takes %s", what, key.Value, strings.Join(names, ", "))
		default:
			take(key, value)
		}
		seen[key.Value] = true
	}
}

func (p *parser) file(n *yaml.Node) (rules []*Rule) {
	var version, kind string
	var list *yaml.Node
	p.members(n, "the file", []string{"apiVersion", "kind", "rules"}, func(key, value *yaml.Node) {
		switch key.Value {
		case "apiVersion":
			version = value.Value
		case "kind":
			kind = value.Value
		case "rules":
			list = value
		}
	})
	switch {
	case len(p.wrong) > 0:
	case version != APIVersion || kind != Kind:
		p.fail(n, "the file has apiVersion %q and kind %q: this dwatch reads %s and %s", version, kind, APIVersion, Kind)
	case list == nil || list.Kind != yaml.SequenceNode:
		p.fail(n, "rules must be a list")
	default:
		for _, one := range list.Content {
			rules = append(rules, p.rule(one))
		}
	}
	return rules
}

// kindForm is a kind and its group, in which a star stands for the kind, or for the first parts of the group.
var kindForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\*|[A-Za-z][A-Za-z0-9]*)\.(\*\.)?[a-z0-9][-a-z0-9.]*$`)
})

func (p *parser) rule(n *yaml.Node) *Rule {
	before := len(p.wrong)
	r := &Rule{Where: fmt.Sprintf("%s:%d", p.path, n.Line)}
	names := []string{"kinds", "ready", "failed", "inProgress", "message", "anyGeneration", "source"}
	p.members(n, "a rule", names, func(key, value *yaml.Node) {
		switch key.Value {
		case "kinds":
			r.Kinds = p.kinds(value)
		case "source":
			r.Source = value.Value
		case "anyGeneration":
			if err := value.Decode(&r.AnyGeneration); err != nil {
				p.fail(value, "anyGeneration must be true or false")
			}
		case "ready":
			r.ready = p.expression(key, value)
		case "failed":
			r.failed = p.expression(key, value)
		case "inProgress":
			r.inProgress = p.expression(key, value)
		case "message":
			r.message = p.expression(key, value)
		}
	})
	switch {
	case len(p.wrong) > before:
	case len(r.Kinds) == 0:
		p.fail(n, "a rule needs kinds, such as Rollout.argoproj.io")
	case r.ready == nil && r.failed == nil && r.inProgress == nil && !r.AnyGeneration:
		p.fail(n, "a rule needs at least one of ready, failed and inProgress")
	}
	return r
}

func (p *parser) kinds(n *yaml.Node) (kinds []string) {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	for _, one := range list {
		if !kindForm().MatchString(one.Value) {
			p.fail(one, "%q is no kind with its group, such as Rollout.argoproj.io, *.argoproj.io or Bucket.*.upbound.io", one.Value)
			continue
		}
		kinds = append(kinds, one.Value)
	}
	return kinds
}

func (p *parser) expression(key, value *yaml.Node) *expression {
	if value.Kind != yaml.ScalarNode || strings.TrimSpace(value.Value) == "" {
		p.fail(value, "%s must be an expression in CEL", key.Value)
		return nil
	}
	line := value.Line
	if value.Style == yaml.LiteralStyle || value.Style == yaml.FoldedStyle {
		line++
	}
	return &expression{text: strings.TrimSpace(value.Value), where: fmt.Sprintf("%s:%d", p.path, line)}
}

// ruleFor returns the rule for a kind; nil if there is none. A rule that names the kind comes before one with a star.
func ruleFor(kind, group string) *Rule {
	cache, name := found.Load(), kindName{kind, group}
	cache.RLock()
	best, ok := cache.rules[name]
	cache.RUnlock()
	if ok {
		return best
	}
	lists := [][]*Rule{builtin()}
	if mine := own.Load(); mine != nil {
		lists = [][]*Rule{(*mine)(), builtin()}
	}
	for _, rules := range lists {
		if best == nil {
			best = matching(rules, kind, group)
		}
	}
	cache.Lock()
	defer cache.Unlock()
	if len(cache.rules) >= maxCached {
		clear(cache.rules)
	}
	cache.rules[kindName{strings.Clone(kind), strings.Clone(group)}] = best
	return best
}

func matching(rules []*Rule, kind, group string) (best *Rule) {
	exact := 0
	for _, r := range rules {
		for _, pattern := range r.Kinds {
			k, g, _ := strings.Cut(pattern, ".")
			weight := 1
			switch suffix, any := strings.CutPrefix(g, "*."); {
			case g == group:
				weight += 2
			case !any || !strings.HasSuffix(group, "."+suffix) && group != suffix:
				continue
			}
			switch k {
			case kind:
				weight += 4
			case "*":
			default:
				continue
			}
			if weight > exact {
				exact, best = weight, r
			}
		}
	}
	return best
}

// costLimit bounds one evaluation, as for conditions of events.
const costLimit = 1_000_000

// environment is made when the first rule is evaluated.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("object", cel.DynType),
		cel.Variable("metadata", cel.DynType),
		cel.Variable("spec", cel.DynType),
		cel.Variable("status", cel.DynType),
		cel.Variable("conditions", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("reasons", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("messages", cel.MapType(cel.StringType, cel.StringType)),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
		ext.Strings(),
		ext.Lists(),
	)
})

// compile makes the program, once.
func (c *expression) compile(isCondition bool) error {
	c.once.Do(func() {
		env, err := environment()
		if err != nil {
			c.err = err
			return
		}
		ast, issues := env.Compile(c.text)
		if issues.Err() != nil {
			c.err = c.issue(issues)
			return
		}
		want := cel.BoolType
		if !isCondition {
			want = cel.StringType
		}
		if t := ast.OutputType(); !t.IsExactType(want) && t.Kind() != types.DynKind {
			c.err = fmt.Errorf("%s: the expression must be of type %s, not %s: %s", c.where, cel.FormatCELType(want), cel.FormatCELType(t), oneLine(c.text))
			return
		}
		options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
		if !c.isTrusted {
			options = append(options, cel.CostLimit(costLimit))
		}
		c.program, c.err = env.Program(ast, options...)
	})
	return c.err
}

// issue returns the first mistake, on one line, with the line of the file that it is on.
func (c *expression) issue(issues *cel.Issues) error {
	first := issues.Errors()[0]
	path, line := c.where, 0
	if i := strings.LastIndexByte(c.where, ':'); i >= 0 {
		path = c.where[:i]
		_, _ = fmt.Sscan(c.where[i+1:], &line)
	}
	return fmt.Errorf("%s:%d: %s: %s", path, line+max(first.Location.Line()-1, 0), oneLine(first.Message), oneLine(c.text))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// holds reports whether the expression is true. A field that is missing, or of another type, makes it false.
func (c *expression) holds(variables *variables) (bool, error) {
	if c == nil {
		return false, nil
	}
	if err := c.compile(true); err != nil {
		return false, err
	}
	value, _, err := c.program.Eval(variables)
	return err == nil && value == types.True, nil
}

func (c *expression) string(variables *variables) string {
	if c == nil || c.compile(false) != nil {
		return ""
	}
	value, _, err := c.program.Eval(variables)
	if err != nil {
		return ""
	}
	text, _ := value.Value().(string)
	return oneLine(text)
}

// byRule returns what a rule says. The general answer is used where the rule says nothing; it is never "ready" if the
// rule says when the object is ready.
func (j *judge) byRule(r *Rule, general func() Result) Result {
	variables := &variables{judge: j}
	for _, try := range []struct {
		when   *expression
		answer Answer
	}{{r.failed, Failed}, {r.inProgress, InProgress}, {r.ready, Ready}} {
		holds, err := try.when.holds(variables)
		if err != nil {
			return Result{By: r.Where, Message: err.Error()}
		}
		if !holds {
			continue
		}
		j.note(try.when.where, oneLine(try.when.text), try.answer.String())
		result := Result{Answer: try.answer, By: "the rule in " + r.Where}
		if try.answer == Ready {
			return result
		}
		if result.Message = r.message.string(variables); result.Message == "" {
			result.Message = general().Message
		}
		if result.HasReason = result.Message != ""; !result.HasReason {
			result.Message = oneLine(try.when.text)
		}
		return result
	}
	result := general()
	if r.ready != nil && (result.Answer == Ready || result.Answer == Unknown) {
		message := r.message.string(variables)
		if message == "" {
			message = "not yet: " + oneLine(r.ready.text)
		}
		return Result{Answer: InProgress, By: "the rule in " + r.Where, Message: message}
	}
	return result
}

// variables are what expressions see. They are made when an expression reads them.
type variables struct {
	judge                         *judge
	conditions, reasons, messages map[string]string
}

// ResolveName implements cel.Activation.
func (v *variables) ResolveName(name string) (any, bool) {
	notNil := func(m map[string]any) map[string]any {
		if m == nil {
			return map[string]any{}
		}
		return m
	}
	switch name {
	case "object":
		return v.judge.object, true
	case "metadata":
		metadata, _ := v.judge.object["metadata"].(map[string]any)
		return notNil(metadata), true
	case "spec":
		return notNil(v.judge.spec), true
	case "status":
		return notNil(v.judge.status), true
	case "conditions":
		return v.conditionsBy(&v.conditions, func(c *condition) string {
			if c.stale {
				return "Unknown"
			}
			return c.status
		}), true
	case "reasons":
		return v.conditionsBy(&v.reasons, func(c *condition) string { return c.reason }), true
	case "messages":
		return v.conditionsBy(&v.messages, func(c *condition) string { return c.message }), true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (v *variables) Parent() cel.Activation { return nil }

// conditionsBy returns a value of each condition by its type. It fills the map if it is nil.
func (v *variables) conditionsBy(values *map[string]string, of func(*condition) string) map[string]string {
	if *values == nil {
		*values = map[string]string{}
		for i := range v.judge.conditions {
			if c := &v.judge.conditions[i]; !c.nested {
				(*values)[c.kind] = of(c)
			}
		}
	}
	return *values
}
