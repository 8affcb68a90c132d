package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/cli/rules"
	"dwatch/cli/run"
	"dwatch/cli/supervisor"
	"dwatch/watcher/event"
)

// podRule is a rule with the paths of files in the pod.
type podRule struct {
	*rules.Rule
	members        map[string]any
	placed, toChat bool // as in podArguments
}

// addRules returns the rules for the pod, and mounts their files.
func (p *podArguments) addRules(of *supervisor.Config, runs []podRun) (made []*podRule, err error) {
	p.placed, p.toChat = true, false // each rule has its own
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(known, new(sendOptions))
	for i, one := range of.Rules {
		r, err := p.rule(one, &runs[i], known)
		if err != nil {
			return nil, err
		}
		made = append(made, r)
	}
	return made, nil
}

// rule returns a rule for the pod, and mounts its files.
func (p *podArguments) rule(one *supervisor.Rule, of *podRun, known *pflag.FlagSet) (*podRule, error) {
	r := &podRule{Rule: one.Rule, members: map[string]any{"name": one.Name}, placed: of.cfg.Selection.NamesNamespaces()}
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
		if err := checkYAML(member, g.Value); err != nil {
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
		if err := checkYAML("command", arg); err != nil {
			return nil, fmt.Errorf("%s: rule %s: %w", one.Position, one.Name, err)
		}
	}
	if one.Command != nil {
		r.members["command"] = one.Command
	}
	r.toChat = of.receiver.Chat != nil && of.receiver.Chat.Cluster == ""
	return r, nil
}

// rulesFor returns the rules for the pod. It adds the namespace and the cluster name that the kubeconfig gives. at[i] is the session
// of all[i].
func rulesFor(all []*podRule, at []*run.Session) (list []any) {
	for i, r := range all {
		if namespaced := slices.ContainsFunc(at[i].Plan.Targets, event.Target.Namespaced); namespaced && !r.placed {
			r.members["namespace"] = at[i].Cluster.Namespace // otherwise it would be the namespace of the pod
		}
		if r.toChat && at[i].Cluster.Context != "" {
			r.members["cluster-name"] = at[i].Cluster.Context
		}
		list = append(list, r.members)
	}
	return list
}
