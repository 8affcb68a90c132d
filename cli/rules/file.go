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

// APIVersion and Kind identify a file of rules.
const (
	APIVersion = "dwatch/v1alpha1"
	Kind       = "Rules"
)

// Rule is one of the rules of a file.
type Rule struct {
	Name string
	// Position says where the rule begins, such as "rules.yaml:12".
	Position string
	// Flags are the flags of the rule. Command is the command line after "--", or nil if the rule has none.
	Flags   []FlagValue
	Command []string
}

// FlagValue is one value of a flag in a rule.
type FlagValue struct {
	Name, Value string
	Position    string // in the file
}

// Equal reports whether two rules are the same apart from their positions.
func (r *Rule) Equal(other *Rule) bool {
	return r.Name == other.Name && slices.Equal(r.Command, other.Command) && (r.Command == nil) == (other.Command == nil) &&
		slices.EqualFunc(r.Flags, other.Flags, func(a, b FlagValue) bool { return a.Name == b.Name && a.Value == b.Value })
}

// FlagPosition returns the position of a flag. If the rule does not set the flag, it returns the position of the rule.
func (r *Rule) FlagPosition(flag string) string {
	for _, f := range r.Flags {
		if f.Name == flag {
			return f.Position
		}
	}
	return r.Position
}

// Flag describes a flag of dwatch send.
type Flag struct {
	Name string
	// IsBool means that the value is true or false. A Repeatable flag may have a list of values.
	IsBool, Repeatable bool
	// ForbiddenReason is why a rule must not set the flag. If empty, a rule may set it.
	ForbiddenReason string
	Usage           string   // help text
	Values          []string // suggested values, may be nil
}

// resourceFlag is the flag that the member "resources" of a rule sets.
const resourceFlag = "resource"

// Parse reads a file of rules. known are the flags of dwatch send. The error has one line for each mistake. Parse may return
// rules together with an error.
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
		return nil, fmt.Errorf("%s: the file is empty: it must have apiVersion %s, kind %s and rules", path, APIVersion, Kind)
	case err != nil:
		return nil, p.unreadable(err)
	}
	switch err := reading.Decode(new(yaml.Node)); {
	case err == nil:
		return nil, fmt.Errorf("%s: the file has several YAML documents: put all rules into one", path)
	case !errors.Is(err, io.EOF):
		return nil, p.unreadable(err)
	}
	rules := p.file(document.Content[0])
	return rules, errors.Join(p.wrong...)
}

func (f Flag) isOfRule() bool { return f.ForbiddenReason == "" && f.Name != resourceFlag }

var lineForm = regexp.MustCompile(`^yaml: line (\d+): `)

// unreadable returns a YAML syntax error with the path and line in front.
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
	names []string // names of the members of a rule
	wrong []error
}

func (p *parser) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", p.path, n.Line) }

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Errorf("%s: %s", p.at(n), fmt.Sprintf(format, args...)))
}

// members calls the function of take for each member of a map.
func (p *parser) members(n *yaml.Node, what string, names []string, take map[string]func(*yaml.Node), other func(key, value *yaml.Node)) {
	if n = resolved(n); n.Kind != yaml.MappingNode {
		p.fail(n, "%s must be a map", what)
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

// unknown reports an unknown member, and returns the name that was probably meant, or "".
func (p *parser) unknown(key *yaml.Node, what string, names []string) (meant string) {
	hint := ""
	if meant = spelling.Nearest(key.Value, names); meant != "" {
		hint = "; did you mean " + meant + "?"
	}
	p.fail(key, "%s has no %q%s", what, key.Value, hint)
	return meant
}

// resolved returns the node that an alias refers to, and other nodes unchanged.
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
	case n.Kind != yaml.MappingNode: // members has reported it
		return nil
	case version != APIVersion || kind != Kind:
		p.fail(n, "the file has apiVersion %q and kind %q: this dwatch reads %s and %s", version, kind, APIVersion, Kind)
		return nil
	case list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0:
		p.fail(cmp.Or(list, n), "rules must be a list with at least one rule")
		return nil
	}
	names := map[string]int{}
	for _, one := range list.Content {
		r := p.rule(resolved(one))
		if line, twice := names[r.Name]; twice && r.Name != "" {
			p.fail(one, "the name %s is already used on line %d", r.Name, line)
		}
		names[r.Name] = one.Line
		rules = append(rules, r)
	}
	return rules
}

// nameForm allows names that can be the value of a metric label and a part of a file name. A name has at most 63 characters,
// and begins and ends with a letter or digit.
var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (p *parser) rule(n *yaml.Node) *Rule {
	r := &Rule{Position: p.at(n)}
	named, misspelled := false, false // whether there is a name, or a member with nearly that name
	p.members(n, "a rule", p.names, map[string]func(*yaml.Node){
		"name":      func(v *yaml.Node) { r.Name, named = v.Value, true },
		"resources": func(v *yaml.Node) { r.Flags = append(r.Flags, p.given(resourceFlag, "resources", v)...) },
		"command":   func(v *yaml.Node) { r.Command = p.texts(v, "command") },
	}, func(key, value *yaml.Node) {
		f, is := p.known[key.Value]
		switch {
		case is && f.ForbiddenReason != "":
			p.fail(key, "--%s %s", key.Value, f.ForbiddenReason)
		case !is || !f.isOfRule():
			misspelled = p.unknown(key, "a rule", p.names) == "name" || misspelled
		default:
			r.Flags = append(r.Flags, p.flag(f, value)...)
		}
	})
	slices.SortStableFunc(r.Flags, func(a, b FlagValue) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case n.Kind != yaml.MappingNode: // members has reported it
	case !named && misspelled: // reported, too
	case !named:
		p.fail(n, "a rule needs a name of lowercase letters, digits and hyphens")
	case !nameForm.MatchString(r.Name):
		p.fail(n, "invalid rule name %q: use at most 63 lowercase letters, digits and hyphens, and no hyphen at the beginning or end", r.Name)
	}
	return r
}

// flag returns one FlagValue for each value of a member.
func (p *parser) flag(f Flag, value *yaml.Node) []FlagValue {
	switch {
	case f.IsBool && (value.Kind != yaml.ScalarNode || value.Tag != "!!bool"):
		p.fail(value, "%s must be true or false", f.Name)
		return nil
	case value.Kind == yaml.SequenceNode && !f.Repeatable:
		p.fail(value, "%s must have one value", f.Name)
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

// texts returns the strings of a scalar or of a list of scalars. Numbers are returned as they are written.
func (p *parser) texts(n *yaml.Node, what string) (all []string) {
	values := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		values = n.Content
	}
	for _, one := range values {
		if one = resolved(one); one.Kind != yaml.ScalarNode || one.Tag == "!!null" {
			p.fail(one, "%s must be a string or a list of strings", what)
			continue
		}
		all = append(all, one.Value)
	}
	return all
}
