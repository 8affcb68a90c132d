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

// contexts are the selected contexts of the kubeconfig. Several names, a pattern, or all contexts select a run of several
// clusters, even if only one context matches.
type contexts struct {
	typed []string // values of --context
	all   bool     // --all-contexts
	// present ignores names that do not exist and patterns without a match. Otherwise they are errors.
	present bool
}

func (c *contexts) addTo(set *pflag.FlagSet) {
	set.StringArrayVar(&c.typed, "context", nil, "The `NAME` of the kubeconfig context to use, or several: a,b or 'prod-*'; repeatable, see docs/reference/clusters.md")
	set.BoolVar(&c.all, "all-contexts", false, "Use all contexts of the kubeconfig, see docs/reference/clusters.md")
}

// HasMultipleContexts reports whether several clusters are selected. It reads the kubeconfig only if a name looks like a list
// or pattern, because a context may have that name.
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

// ErrMultipleContexts is returned if several contexts are selected for a command that connects to one cluster.
var ErrMultipleContexts = errors.New("the command needs one cluster, but several contexts are selected: choose one with --context")

// one uses the context of --context, if given. It returns an error if there are several.
func (f *Flags) one() error {
	if f.HasMultipleContexts() {
		return fail.Usage(ErrMultipleContexts)
	}
	if len(f.contexts.typed) == 1 {
		f.overrides.CurrentContext = f.contexts.typed[0]
	}
	return nil
}

// KubeContext is one of several selected contexts.
type KubeContext struct {
	Name      string
	Namespace string
	Flags     Flags    // to connect to the cluster
	Aliases   []string // contexts with the same cluster and user, which are not watched again
	digest    string   // see connectionDigest
}

// IsSameAs reports whether two contexts have the same name and namespace, and connect to the same server with the same
// credentials.
func (m KubeContext) IsSameAs(o KubeContext) bool {
	return m.Name == o.Name && m.Namespace == o.Namespace && m.digest == o.digest
}

// SelectedContexts returns the selected contexts in the order of --context; matches of a pattern are sorted by name. Contexts
// with the same cluster, user and namespace are merged. If placed is true, their namespaces may differ.
func (f *Flags) SelectedContexts(placed bool) ([]KubeContext, error) {
	loader := f.Loader()
	config, err := loader.RawConfig()
	if err != nil {
		return nil, fail.Usage(f.configError(loader, err))
	}
	if f.overrides.ClusterInfo.Server != "" || f.overrides.Context.Cluster != "" {
		return nil, fail.Usage(errors.New("--server and --cluster select one cluster: they cannot be combined with several contexts"))
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
		members = append(members, KubeContext{Name: name, Namespace: namespaceOf(config.Contexts[name]), Flags: one, digest: connectionDigest(&config, name)})
	}
	return members, nil
}

// SelectsContexts reports whether --context or --all-contexts was given.
func (f *Flags) SelectsContexts() bool { return f.contexts.all || len(f.contexts.typed) > 0 }

// SelectFrom applies --context to names instead of the contexts of the kubeconfig. Without --context it returns all names.
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

// ForFirstContext returns the Flags for the first of several selected contexts, or f if only one is selected.
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

// connectionDigest returns a digest of a context's cluster and user, which changes if the server or the credentials change. It ignores
// extensions, and the data of auth providers, which they renew themselves.
func connectionDigest(config *api.Config, context string) string {
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
		return "" // unreachable: these types can be marshaled
	}
	digest := sha256.Sum256(text)
	return string(digest[:])
}

// HasDynamicContexts reports whether changes of the kubeconfig can change which contexts are selected.
func (f *Flags) HasDynamicContexts() bool {
	config, err := f.Loader().RawConfig()
	return f.contexts.all || err == nil && slices.ContainsFunc(f.contexts.items(&config), func(item string) bool {
		return config.Contexts[item] == nil && strings.ContainsAny(item, `*?[`)
	})
}

// ExistingContexts is like SelectedContexts, but ignores names that do not exist and patterns without a match.
func (f *Flags) ExistingContexts(placed bool) ([]KubeContext, error) {
	now := *f
	now.contexts.present = true
	return now.SelectedContexts(placed)
}

// KubeconfigFingerprint returns a text that changes when a file of the kubeconfig changes.
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

// choose returns the names of the selected contexts, each once.
func (c *contexts) choose(config *api.Config) ([]string, error) {
	sorted := slices.Sorted(maps.Keys(config.Contexts))
	if len(config.Contexts) == 0 {
		return nil, errors.New("the kubeconfig has no contexts")
	}
	if c.all {
		if len(c.typed) > 0 {
			return nil, errors.New("--all-contexts and --context cannot be combined")
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

// items returns the names and patterns of --context. A value with commas is a list, unless a context has that name.
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

// matches is like path.Match, but treats a slash, which names of contexts may contain, like other characters.
func matches(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(plain.Replace(pattern), plain.Replace(name))
	return ok && err == nil
}
