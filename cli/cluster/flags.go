// Package cluster connects to API servers: it turns kubectl's connection flags into configurations and clients.
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

// Flags are kubectl's connection flags. The zero value means that no flag was given.
type Flags struct {
	// UserAgent is the user agent in the server's audit log.
	UserAgent string

	kubeconfig string
	contexts   contexts
	overrides  clientcmd.ConfigOverrides
	// read is the kubeconfig that SelectedContexts has read, for the first Connect. If each of many contexts read it again,
	// the time would be quadratic. Later calls of Connect read the files. It is nil for Flags of a single cluster.
	read *atomic.Pointer[api.Config]
}

func (f *Flags) AddFlags(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "Path to the kubeconfig `FILE`")
	// Discovery is not cached on disk. A cache would save one round trip, but could be outdated without causing a 404: a name
	// may mean another resource, another version may be preferred, a category may have more resources, or the scope of a
	// resource may have changed.
	set.String("cache-dir", "", "Ignored: dwatch keeps no cache in `DIR`")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{} // dwatch's own flag accepts several namespaces
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.CurrentContext = clientcmd.FlagInfo{} // dwatch's own flag accepts several contexts
	f.contexts.addTo(set)
	clientcmd.BindOverrideFlags(&f.overrides, set, names)
}

// Loader returns a loader that finds the kubeconfig like kubectl: --kubeconfig, $KUBECONFIG, ~/.kube/config, or the
// configuration within a cluster. It opens files only when its methods are called.
func (f *Flags) Loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules(), &f.overrides)
}

func (f *Flags) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

// firstLoader returns a loader of the kubeconfig that SelectedContexts has read. Later calls return Loader.
func (f *Flags) firstLoader() clientcmd.ClientConfig {
	if f.read != nil {
		if config := f.read.Swap(nil); config != nil {
			return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loaded{f.rules(), config}, &f.overrides)
		}
	}
	return f.Loader()
}

// loaded is a loader of a kubeconfig that was already read.
type loaded struct {
	*clientcmd.ClientConfigLoadingRules
	config *api.Config
}

// Load implements clientcmd.ClientConfigLoader.
func (l loaded) Load() (*api.Config, error) { return l.config.DeepCopy(), nil }

// context returns the name of the context in use, or an empty string if --server overrides its server.
func (f *Flags) context(loader clientcmd.ClientConfig) string {
	config, err := loader.RawConfig()
	if err != nil || f.overrides.ClusterInfo.Server != "" { // not the server of the context
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
		return notConfiguredError(noConfig(loader.ConfigAccess().GetLoadingPrecedence()))
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

// notConfiguredError is the error if neither flags nor files name a cluster.
type notConfiguredError string

func (e notConfiguredError) Error() string { return string(e) }

// IsNotConfigured reports whether err means that neither flags nor files name a cluster.
func IsNotConfigured(err error) bool {
	_, is := errors.AsType[notConfiguredError](err)
	return is
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
