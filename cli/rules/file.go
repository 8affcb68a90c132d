package rules

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"dwatch/mapper/near"
)

// The kind of the file, and its version.
const (
	APIVersion = "dwatch/v1alpha1"
	Kind       = "Rules"
)

// Process are the flags that are of the process, and not of a rule.
var Process = []string{"help", "listen", "log", "quiet", "state", "utc", "v", "verify", "redeliver", "from", "timeout", "count", "until", "fail-if"}

// Rule is one of the rules of a file.
type Rule struct {
	Name  string
	Where string // in the file, such as "rules.yaml:12: rule jobs"
	// Resources are the arguments, and Command what stands after "--"; nil: there is none.
	Resources, Command []string
	flags              []flag
}

type flag struct{ name, value string }

// Arguments is the command line of the rule, behind dwatch send.
func (r *Rule) Arguments() (args []string) {
	for _, f := range r.flags {
		args = append(args, "--"+f.name+"="+f.value)
	}
	args = append(args, r.Resources...)
	if r.Command != nil {
		args = append(append(args, "--"), r.Command...)
	}
	return args
}

// Equal reports whether two rules say the same, wherever they stand.
func (r *Rule) Equal(other *Rule) bool {
	return r.Name == other.Name && slices.Equal(r.Arguments(), other.Arguments())
}

// Flag is what of a flag decides what a rule may have.
type Flag struct {
	Name string
	// Switch: it takes true or false. Many: it may be given several times.
	Switch, Many bool
}

// Parse reads a file. known are the flags of dwatch send. The error has a line for each mistake.
func Parse(path string, text []byte, known []Flag) ([]*Rule, error) {
	p := &parser{path: path, known: map[string]Flag{}}
	for _, f := range known {
		if !slices.Contains(Process, f.Name) {
			p.known[f.Name] = f
			p.names = append(p.names, f.Name)
		}
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) == 0 {
		return nil, fmt.Errorf("%s: it is empty: it takes apiVersion %s, kind %s, and rules", path, APIVersion, Kind)
	}
	rules := p.file(document.Content[0])
	return rules, errors.Join(p.wrong...)
}

type parser struct {
	path  string
	known map[string]Flag
	names []string
	wrong []error
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Errorf("%s:%d: %s", p.path, n.Line, fmt.Sprintf(format, args...)))
}

// members calls take with each member of a map.
func (p *parser) members(n *yaml.Node, what string, names []string, take map[string]func(*yaml.Node), other func(key, value *yaml.Node)) {
	if n = resolved(n); n.Kind != yaml.MappingNode {
		p.fail(n, "%s is a map", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch do := take[key.Value]; {
		case seen[key.Value]:
			p.fail(key, "%s has %q twice", what, key.Value)
		case do != nil:
			do(resolved(value))
		case other != nil:
			other(key, resolved(value))
		default:
			p.unknown(key, what, names)
		}
		seen[key.Value] = true
	}
}

func (p *parser) unknown(key *yaml.Node, what string, names []string) {
	meant := ""
	if n := near.To(key.Value, names); n != "" {
		meant = "; did you mean " + n + "?"
	}
	p.fail(key, "%s has no %q%s", what, key.Value, meant)
}

// resolved is what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (p *parser) file(n *yaml.Node) (rules []*Rule) {
	var version, kind string
	var list *yaml.Node
	p.members(n, "the file", []string{"apiVersion", "kind", "rules"}, map[string]func(*yaml.Node){
		"apiVersion": func(v *yaml.Node) { version = v.Value },
		"kind":       func(v *yaml.Node) { kind = v.Value },
		"rules":      func(v *yaml.Node) { list = v },
	}, nil)
	switch {
	case version != APIVersion || kind != Kind:
		p.fail(n, "it is apiVersion %q, kind %q: this dwatch reads %s, %s", version, kind, APIVersion, Kind)
		return nil
	case list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0:
		p.fail(cmp.Or(list, n), "rules is a list of at least one rule")
		return nil
	}
	names := map[string]int{}
	for _, one := range list.Content {
		r := p.rule(resolved(one))
		if line, twice := names[r.Name]; twice && r.Name != "" {
			p.fail(one, "another rule is called %s, on line %d", r.Name, line)
		}
		names[r.Name] = one.Line
		rules = append(rules, r)
	}
	return rules
}

// nameForm is such that a name can be a label of metrics, and part of a file name.
var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (p *parser) rule(n *yaml.Node) *Rule {
	r := &Rule{}
	p.members(n, "a rule", nil, map[string]func(*yaml.Node){
		"name":      func(v *yaml.Node) { r.Name = v.Value },
		"resources": func(v *yaml.Node) { r.Resources = p.texts(v, "resources") },
		"command":   func(v *yaml.Node) { r.Command = p.texts(v, "command") },
	}, func(key, value *yaml.Node) {
		f, is := p.known[key.Value]
		switch {
		case slices.Contains(Process, key.Value):
			p.fail(key, "--%s is for all rules: it stands on the command line", key.Value)
		case !is:
			p.unknown(key, "a rule", append([]string{"name", "resources", "command"}, p.names...))
		default:
			r.flags = append(r.flags, p.flag(f, value)...)
		}
	})
	slices.SortStableFunc(r.flags, func(a, b flag) int { return strings.Compare(a.name, b.name) })
	if n.Kind == yaml.MappingNode && !nameForm.MatchString(r.Name) {
		p.fail(n, "a rule has a name of small letters, digits and hyphens, and this one %q", r.Name)
	}
	r.Where = fmt.Sprintf("%s:%d: rule %s", p.path, n.Line, r.Name)
	return r
}

// flag is the flag that a member stands for, as often as it has values.
func (p *parser) flag(f Flag, value *yaml.Node) (all []flag) {
	switch {
	case f.Switch && (value.Kind != yaml.ScalarNode || value.Tag != "!!bool"):
		p.fail(value, "%s is true or false", f.Name)
		return nil
	case value.Kind == yaml.SequenceNode && !f.Many:
		p.fail(value, "%s has one value", f.Name)
		return nil
	}
	for _, text := range p.texts(value, f.Name) {
		all = append(all, flag{f.Name, text})
	}
	return all
}

// texts are a text, or a list of them. A number is one as it is written.
func (p *parser) texts(n *yaml.Node, what string) (all []string) {
	values := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		values = n.Content
	}
	for _, one := range values {
		if one = resolved(one); one.Kind != yaml.ScalarNode || one.Tag == "!!null" {
			p.fail(one, "%s is a text, or a list of texts", what)
			continue
		}
		all = append(all, one.Value)
	}
	return all
}
