package cluster

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/cli/fail"
)

// contexts are those of the kubeconfig that are asked for. More than one, a pattern, or all of them
// is a run of several clusters, however many there are of them.
type contexts struct {
	typed []string
	all   bool
}

func (c *contexts) addTo(set *pflag.FlagSet) {
	set.StringArrayVar(&c.typed, "context", nil, "The `NAME` of the kubeconfig context to use, or several: a,b or 'prod-*'; repeatable, see docs/clusters.md")
	set.BoolVar(&c.all, "all-contexts", false, "Use all contexts of the kubeconfig, see docs/clusters.md")
}

// IsSeveral reports whether several clusters are asked for. It reads the kubeconfig only where a
// name looks like a list: there may be a context of that very name.
func (f *Flags) IsSeveral() bool {
	typed := f.contexts.typed
	switch {
	case f.contexts.all || len(typed) > 1:
		return true
	case len(typed) == 0 || !strings.ContainsAny(typed[0], `,*?[`):
		return false
	}
	config, err := f.Loader().RawConfig()
	return err != nil || config.Contexts[typed[0]] == nil
}

// ErrSeveral is the error of what takes one cluster, and was given several.
var ErrSeveral = errors.New("several contexts at once go with the stream and dwatch wait so far, and not with this: choose one with --context (docs/clusters.md)")

// one chooses the context that is typed, if there is one.
func (f *Flags) one() error {
	if f.IsSeveral() {
		return fail.Usage(ErrSeveral)
	}
	if len(f.contexts.typed) == 1 {
		f.overrides.CurrentContext = f.contexts.typed[0]
	}
	return nil
}

// Member is one of several clusters.
type Member struct {
	Name      string   // that of the context
	Namespace string   // of the context
	Flags     Flags    // that lead there
	Same      []string // contexts that lead there as well, which is watched once
}

// Each returns the clusters that are asked for, in the order in which they were named, and by name
// where a pattern stands for them. Contexts of the same cluster, user and namespace are one.
func (f *Flags) Each() ([]Member, error) {
	loader := f.Loader()
	config, err := loader.RawConfig()
	if err != nil {
		return nil, fail.Usage(f.configError(loader, err))
	}
	if f.overrides.ClusterInfo.Server != "" || f.overrides.Context.Cluster != "" {
		return nil, fail.Usage(errors.New("--server and --cluster lead to one cluster: they do not go with several contexts"))
	}
	names, err := f.contexts.choose(&config)
	if err != nil {
		return nil, fail.Usage(err)
	}
	var members []Member
	for _, name := range names {
		same := func(m Member) bool { return isSame(config.Contexts[m.Name], config.Contexts[name]) }
		if i := slices.IndexFunc(members, same); i >= 0 {
			members[i].Same = append(members[i].Same, name)
			continue
		}
		one := *f
		one.contexts = contexts{typed: []string{name}}
		members = append(members, Member{Name: name, Namespace: config.Contexts[name].Namespace, Flags: one})
	}
	return members, nil
}

// First returns what leads to the first of several clusters, or to the one that is asked for.
func (f *Flags) First() *Flags {
	if !f.IsSeveral() {
		return f
	}
	each, err := f.Each()
	if err != nil || len(each) == 0 {
		return f
	}
	return &each[0].Flags
}

func isSame(a, b *api.Context) bool {
	return a.Cluster == b.Cluster && a.AuthInfo == b.AuthInfo && a.Namespace == b.Namespace
}

// choose returns the names of the contexts, each once.
func (c *contexts) choose(config *api.Config) ([]string, error) {
	sorted := slices.Sorted(maps.Keys(config.Contexts))
	if len(config.Contexts) == 0 {
		return nil, errors.New("the kubeconfig has no contexts")
	}
	if c.all {
		if len(c.typed) > 0 {
			return nil, errors.New("--all-contexts is all of them: it does not go with --context")
		}
		return sorted, nil
	}
	var chosen []string
	add := func(name string) {
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	for _, item := range c.items(config) {
		switch {
		case config.Contexts[item] != nil:
			add(item)
		case !strings.ContainsAny(item, `*?[`):
			return nil, missing("context", item, config.Contexts)
		default:
			matching := slices.DeleteFunc(slices.Clone(sorted), func(name string) bool { return !matches(item, name) })
			if len(matching) == 0 {
				return nil, fmt.Errorf("kubeconfig: no context matches %q; there is %s", item, names(config.Contexts))
			}
			for _, name := range matching {
				add(name)
			}
		}
	}
	return chosen, nil
}

// items are the names and patterns. One with a comma in it is a list, unless there is a context of
// that name.
func (c *contexts) items(config *api.Config) (items []string) {
	for _, typed := range c.typed {
		if config.Contexts[typed] != nil {
			items = append(items, typed)
			continue
		}
		items = append(items, strings.Split(typed, ",")...)
	}
	return items
}

// matches is path.Match, but that a slash, which names of contexts have in them, is as any character.
func matches(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(plain.Replace(pattern), plain.Replace(name))
	return ok && err == nil
}
