package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/cli/rules"
	"dwatch/watcher/event"
)

// podRule is a rule for a pod: with the files where the pod has them.
type podRule struct {
	*rules.Rule
	members        map[string]any
	placed, toChat bool // as of podArguments
}

// ofRules makes what runs the rules of a file in a cluster.
func (m *manifestsFlags) ofRules(set *ruleset) (runner, error) {
	var all []*watching
	for _, one := range set.rules {
		one.listen = set.listen // of which is said what does not fit
		all = append(all, one.watching)
	}
	pod, err := m.pod(all)
	if err != nil {
		return nil, err
	}
	pod.placed, pod.toChat = true, false // each rule says it
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(known, new(sendFlags))
	var made []*podRule
	for _, one := range set.rules {
		r, err := pod.rule(one, known)
		if err != nil {
			return nil, err
		}
		made = append(made, r)
	}
	return m.made(all, pod, made), nil
}

// rule is a rule for the pod, whose files are added to those of the pod.
func (p *podArguments) rule(one *rule, known *pflag.FlagSet) (*podRule, error) {
	r := &podRule{Rule: one.Rule, members: map[string]any{"name": one.Name}, placed: one.isPlaced()}
	for _, g := range one.Flags {
		f := known.Lookup(g.Name)
		value, member := any(g.Value), g.Name
		switch {
		case flags.IsFileValue(f, g.Value):
			at, err := p.move(g.Name, g.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: rule %s: %w", g.Position, one.Name, err)
			}
			value = at
		case f.Value.Type() == "bool":
			is, err := strconv.ParseBool(g.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: rule %s: %w", g.Position, one.Name, err)
			}
			value = is
		}
		if err := isKept(member, g.Value); err != nil {
			return nil, fmt.Errorf("%s: rule %s: %w", g.Position, one.Name, err)
		}
		if g.Name == "resource" {
			member = "resources"
		}
		switch before := r.members[member].(type) {
		case nil:
			r.members[member] = value
		case []any:
			r.members[member] = append(before, value)
		default:
			r.members[member] = []any{before, value}
		}
	}
	for _, arg := range one.Command {
		if err := isKept("command", arg); err != nil {
			return nil, fmt.Errorf("%s: rule %s: %w", one.Position, one.Name, err)
		}
	}
	if one.Command != nil {
		r.members["command"] = one.Command
	}
	to := one.delivery()
	r.toChat = to.chat != nil && to.chat.Cluster == ""
	return r, nil
}

// rulesFor are rules with what they mean here: each has the session of its own.
func rulesFor(all []*podRule, at []*session) (list []any) {
	for i, r := range all {
		if namespaced := slices.ContainsFunc(at[i].plan.Targets, event.Target.Namespaced); namespaced && !r.placed {
			r.members["namespace"] = at[i].Namespace // in the pod it would be the pod's
		}
		if r.toChat && at[i].Context != "" {
			r.members["cluster-name"] = at[i].Context
		}
		list = append(list, r.members)
	}
	return list
}
