// Package cluster is the way to one API server: from kubectl's connection flags to
// a configuration and clients.
package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's credential plugins
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Flags are kubectl's connection flags. The zero value is none given.
type Flags struct {
	// UserAgent is what the server's audit log shows.
	UserAgent string

	kubeconfig string
	contexts   contexts
	overrides  clientcmd.ConfigOverrides
	// read is the kubeconfig as Each has read it, for the first Connect: that each member reads it anew takes
	// the square of how many contexts there are. A later one may find another. nil: there is none.
	read *atomic.Pointer[api.Config]
}

func (f *Flags) AddFlags(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "Path to the kubeconfig `FILE`")
	// What discovery says is not kept on disk. It would save one round trip, and
	// could be wrong without a 404 to show it: when a name has come to mean another
	// resource, another version is preferred, a category has one member more, or a
	// resource that was cluster-scoped lives in namespaces now.
	set.String("cache-dir", "", "Without effect, whatever `DIR`: dwatch keeps no cache")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{} // ours takes several
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.CurrentContext = clientcmd.FlagInfo{} // and of these
	f.contexts.addTo(set)
	clientcmd.BindOverrideFlags(&f.overrides, set, names)
}

// Loader reads the kubeconfig by kubectl's rules: --kubeconfig, $KUBECONFIG,
// ~/.kube/config, in the cluster. It opens no file before it is asked.
func (f *Flags) Loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules(), &f.overrides)
}

func (f *Flags) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

// firstLoader is Loader of what Each has read, the first time.
func (f *Flags) firstLoader() clientcmd.ClientConfig {
	if f.read != nil {
		if config := f.read.Swap(nil); config != nil {
			return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loaded{f.rules(), config}, &f.overrides)
		}
	}
	return f.Loader()
}

// loaded are the rules by which a kubeconfig was read.
type loaded struct {
	*clientcmd.ClientConfigLoadingRules
	config *api.Config
}

// Load implements clientcmd.ClientConfigLoader.
func (l loaded) Load() (*api.Config, error) { return l.config.DeepCopy(), nil }

// context returns the name of the context that is in force.
func (f *Flags) context(loader clientcmd.ClientConfig) string {
	config, err := loader.RawConfig()
	if err != nil || f.overrides.ClusterInfo.Server != "" { // it is another server than that of the context
		return ""
	}
	return cmp.Or(f.overrides.CurrentContext, config.CurrentContext)
}

func (f *Flags) configError(loader clientcmd.ClientConfig, err error) error {
	config, unreadable := loader.RawConfig()
	if unreadable != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	current := cmp.Or(f.overrides.CurrentContext, config.CurrentContext)
	asked := f.overrides.Context
	switch {
	case clientcmd.IsEmptyConfig(err) && len(config.Contexts) == 0 && len(config.Clusters) == 0:
		return errors.New(noConfig(loader.ConfigAccess().GetLoadingPrecedence()))
	case current != "" && config.Contexts[current] == nil:
		return missing("context", current, config.Contexts)
	case asked.Cluster != "" && config.Clusters[asked.Cluster] == nil:
		return missing("cluster", asked.Cluster, config.Clusters)
	case asked.AuthInfo != "" && config.AuthInfos[asked.AuthInfo] == nil:
		return missing("user", asked.AuthInfo, config.AuthInfos)
	case clientcmd.IsEmptyConfig(err) && current != "" && config.Clusters[config.Contexts[current].Cluster] == nil:
		return fmt.Errorf("kubeconfig: the cluster %q of context %q does not exist; there is %s", config.Contexts[current].Cluster, current, names(config.Clusters))
	case clientcmd.IsEmptyConfig(err) && current == "":
		return fmt.Errorf("the kubeconfig has no current context: choose one with --context (%s)", names(config.Contexts))
	default:
		return fmt.Errorf("kubeconfig: %w", err)
	}
}

func noConfig(files []string) string {
	looked := ""
	if files = slices.DeleteFunc(files, func(file string) bool { return file == "" }); len(files) > 0 {
		looked = " (looked in " + strings.Join(files, ", ") + ")"
	}
	return "no cluster configured" + looked + " and not in a cluster: set KUBECONFIG, or use --kubeconfig or --server"
}

func missing[T any](what, name string, there map[string]T) error {
	return fmt.Errorf("kubeconfig: %s %q does not exist; there is %s", what, name, names(there))
}

func names[T any](there map[string]T) string {
	if len(there) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(there)), ", ")
}
