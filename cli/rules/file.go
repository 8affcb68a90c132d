package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"dwatch/internal/spelling"
)

// The kind of the file, and its version.
const (
	APIVersion = "dwatch/v1alpha1"
	Kind       = "Rules"
)

// Rule is one of the rules of a file.
type Rule struct {
	Name string
	// Where is where the rule is in the file, such as "rules.yaml:12".
	Position string
	// Flags are the command line of the rule but for Command, which stands after "--"; nil: there is none.
	Flags   []FlagValue
	Command []string
}

// Given is a flag of a rule.
type FlagValue struct {
	Name, Value string
	Position    string // in the file
}

// Equal reports whether two rules say the same, wherever they stand.
func (r *Rule) Equal(other *Rule) bool {
	return r.Name == other.Name && slices.Equal(r.Command, other.Command) && (r.Command == nil) == (other.Command == nil) &&
		slices.EqualFunc(r.Flags, other.Flags, func(a, b FlagValue) bool { return a.Name == b.Name && a.Value == b.Value })
}

// At is where a flag of the rule is, or the rule itself if it does not have it.
func (r *Rule) FlagPosition(flag string) string {
	for _, f := range r.Flags {
		if f.Name == flag {
			return f.Position
		}
	}
	return r.Position
}

// Flag is what of a flag decides what a rule may have.
type Flag struct {
	Name string
	// Switch: it takes true or false. Many: it may be given several times.
	IsBool, Repeatable bool
	// Why a rule may not have it; empty: it may.
	ForbiddenReason string
	Usage           string   // what it says of itself
	Values          []string // some that it takes; nil: there is nothing to say
}

// resourceFlag is the flag for which a rule has resources.
const resourceFlag = "resource"

// Parse reads a file. known are the flags of dwatch send. The error has a line for each mistake.
func Parse(path string, text []byte, known []Flag) ([]*Rule, error) {
	p := &parser{path: path, known: map[string]Flag{}, names: []string{"name", "resources", "command"}}
	for _, f := range known {
		p.known[f.Name] = f
		if f.isOfRule() {
			p.names = append(p.names, f.Name)
		}
	}
	var document yaml.Node
	reading := yaml.NewDecoder(bytes.NewReader(text))
	switch err := reading.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: it is empty: it takes apiVersion %s, kind %s, and rules", path, APIVersion, Kind)
	case err != nil:
		return nil, p.unreadable(err)
	}
	if err := reading.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: it has several documents: all rules stand in one", path)
	}
	rules := p.file(document.Content[0])
	return rules, errors.Join(p.wrong...)
}

func (f Flag) isOfRule() bool { return f.ForbiddenReason == "" && f.Name != resourceFlag }

var lineForm = regexp.MustCompile(`^yaml: line (\d+): `)

// unreadable is an error of what is no YAML, behind its line.
func (p *parser) unreadable(err error) error {
	text := err.Error()
	if at := lineForm.FindStringSubmatch(text); at != nil {
		return fmt.Errorf("%s:%s: %s", p.path, at[1], strings.TrimPrefix(text, at[0]))
	}
	return fmt.Errorf("%s: %s", p.path, strings.TrimPrefix(text, "yaml: "))
}

type parser struct {
	path  string
	known map[string]Flag
	names []string // of a rule's members
	wrong []error
}

func (p *parser) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", p.path, n.Line) }

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Errorf("%s: %s", p.at(n), fmt.Sprintf(format, args...)))
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
	if n := spelling.Nearest(key.Value, names); n != "" {
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
	case n.Kind != yaml.MappingNode: // which is said
		return nil
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
	r := &Rule{Position: p.at(n)}
	p.members(n, "a rule", p.names, map[string]func(*yaml.Node){
		"name":      func(v *yaml.Node) { r.Name = v.Value },
		"resources": func(v *yaml.Node) { r.Flags = append(r.Flags, p.given(resourceFlag, "resources", v)...) },
		"command":   func(v *yaml.Node) { r.Command = p.texts(v, "command") },
	}, func(key, value *yaml.Node) {
		f, is := p.known[key.Value]
		switch {
		case is && f.ForbiddenReason != "":
			p.fail(key, "--%s %s", key.Value, f.ForbiddenReason)
		case !is || !f.isOfRule():
			p.unknown(key, "a rule", p.names)
		default:
			r.Flags = append(r.Flags, p.flag(f, value)...)
		}
	})
	slices.SortStableFunc(r.Flags, func(a, b FlagValue) int { return strings.Compare(a.Name, b.Name) })
	if n.Kind == yaml.MappingNode && !nameForm.MatchString(r.Name) {
		p.fail(n, "a rule has a name of small letters, digits and hyphens, and this one %q", r.Name)
	}
	return r
}

// flag is the flag that a member stands for, as often as it has values.
func (p *parser) flag(f Flag, value *yaml.Node) []FlagValue {
	switch {
	case f.IsBool && (value.Kind != yaml.ScalarNode || value.Tag != "!!bool"):
		p.fail(value, "%s is true or false", f.Name)
		return nil
	case value.Kind == yaml.SequenceNode && !f.Repeatable:
		p.fail(value, "%s has one value", f.Name)
		return nil
	}
	return p.given(f.Name, f.Name, value)
}

func (p *parser) given(flag, member string, n *yaml.Node) (all []FlagValue) {
	for _, text := range p.texts(n, member) {
		all = append(all, FlagValue{flag, text, p.at(n)})
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
