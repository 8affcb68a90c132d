package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/cli/fail"
)

// contexts are those of the kubeconfig that are asked for. More than one, a pattern, or all of them
// is a run of several clusters, however many there are of them.
type contexts struct {
	typed []string
	all   bool
	// present takes those that there are: a pattern may match none.
	present bool
}

func (c *contexts) addTo(set *pflag.FlagSet) {
	set.StringArrayVar(&c.typed, "context", nil, "The `NAME` of the kubeconfig context to use, or several: a,b or 'prod-*'; repeatable, see docs/clusters.md")
	set.BoolVar(&c.all, "all-contexts", false, "Use all contexts of the kubeconfig, see docs/clusters.md")
}

// IsSeveral reports whether several clusters are asked for. It reads the kubeconfig only where a
// name looks like a list: there may be a context of that very name.
func (f *Flags) HasMultipleContexts() bool {
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
var ErrMultipleContexts = errors.New("this takes one cluster, and these are several contexts: choose one with --context")

// one chooses the context that is typed, if there is one.
func (f *Flags) one() error {
	if f.HasMultipleContexts() {
		return fail.Usage(ErrMultipleContexts)
	}
	if len(f.contexts.typed) == 1 {
		f.overrides.CurrentContext = f.contexts.typed[0]
	}
	return nil
}

// Member is one of several clusters.
type KubeContext struct {
	Name      string   // that of the context
	Namespace string   // of the context
	Flags     Flags    // that lead there
	Aliases   []string // contexts that lead there as well, which is watched once
	lead      string   // digest of all that the kubeconfig says of the way there
}

// IsAs reports whether two contexts lead to the same namespace of the same server in the same way, with the
// same credentials.
func (m KubeContext) IsSameAs(o KubeContext) bool {
	return m.Name == o.Name && m.Namespace == o.Namespace && m.lead == o.lead
}

// Each returns the clusters that are asked for, in the order in which they were named, and by name
// where a pattern stands for them. Contexts of the same cluster and user are one, if their namespace is
// the same, too, or placed says that it does not matter.
func (f *Flags) SelectedContexts(placed bool) ([]KubeContext, error) {
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
	var members []KubeContext
	for _, name := range names {
		same := func(m KubeContext) bool {
			return isSame(config.Contexts[m.Name], config.Contexts[name]) && (placed || m.Namespace == namespaceOf(config.Contexts[name]))
		}
		if i := slices.IndexFunc(members, same); i >= 0 {
			members[i].Aliases = append(members[i].Aliases, name)
			continue
		}
		one := *f
		one.contexts, one.read = contexts{typed: []string{name}}, new(atomic.Pointer[api.Config])
		one.read.Store(&config)
		members = append(members, KubeContext{Name: name, Namespace: namespaceOf(config.Contexts[name]), Flags: one, lead: leadOf(&config, name)})
	}
	return members, nil
}

// IsNamed reports whether contexts are asked for by name.
func (f *Flags) SelectsContexts() bool { return f.contexts.all || len(f.contexts.typed) > 0 }

// Among chooses of names, as of contexts of a kubeconfig: all, where none is asked for.
func (f *Flags) SelectFrom(names []string) ([]string, error) {
	if !f.SelectsContexts() {
		return names, nil
	}
	there := api.NewConfig()
	for _, name := range names {
		there.Contexts[name] = api.NewContext()
	}
	return f.contexts.choose(there)
}

// First returns what leads to the first of several clusters, or to the one that is asked for.
func (f *Flags) ForFirstContext() *Flags {
	if !f.HasMultipleContexts() {
		return f
	}
	each, err := f.SelectedContexts(false)
	if err != nil || len(each) == 0 {
		return f
	}
	return &each[0].Flags
}

func isSame(a, b *api.Context) bool {
	return a.Cluster == b.Cluster && a.AuthInfo == b.AuthInfo
}

// leadOf is another one where a context leads elsewhere, or with other credentials. What a provider of
// credentials keeps in the kubeconfig, and renews there by itself, has no part in it, nor what other
// programs note there.
func leadOf(config *api.Config, context string) string {
	c := config.Contexts[context]
	var at api.Cluster
	if known := config.Clusters[c.Cluster]; known != nil {
		at = *known
	}
	var user api.AuthInfo
	if known := config.AuthInfos[c.AuthInfo]; known != nil {
		user = *known
	}
	at.Extensions, user.Extensions, user.AuthProvider = nil, nil, nil
	text, err := json.Marshal([]any{at, user, c.Cluster, c.AuthInfo})
	if err != nil {
		return "" // it is never other
	}
	digest := sha256.Sum256(text)
	return string(digest[:])
}

// FollowsContexts reports whether what is asked for changes with the kubeconfig.
func (f *Flags) HasDynamicContexts() bool {
	config, err := f.Loader().RawConfig()
	return f.contexts.all || err == nil && slices.ContainsFunc(f.contexts.items(&config), func(item string) bool {
		return config.Contexts[item] == nil && strings.ContainsAny(item, `*?[`)
	})
}

// Present is Each for those that there are by now. What is named, and gone, has left.
func (f *Flags) ExistingContexts(placed bool) ([]KubeContext, error) {
	now := *f
	now.contexts.present = true
	return now.SelectedContexts(placed)
}

// Stamp is another one when the files of the kubeconfig have changed.
func (f *Flags) KubeconfigFingerprint() string {
	var stamp strings.Builder
	for _, file := range f.Loader().ConfigAccess().GetLoadingPrecedence() {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintln(&stamp, file, info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp.String()
}

func namespaceOf(c *api.Context) string { return cmp.Or(c.Namespace, metav1.NamespaceDefault) }

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
		case !strings.ContainsAny(item, `*?[`) && c.present:
		case !strings.ContainsAny(item, `*?[`):
			return nil, missing("context", item, config.Contexts)
		default:
			matching := slices.DeleteFunc(slices.Clone(sorted), func(name string) bool { return !matches(item, name) })
			if len(matching) == 0 && !c.present {
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
