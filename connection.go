package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's credential plugins
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// dialTimeout bounds how long an address that does not answer is tried.
	dialTimeout = 5 * time.Second
	// askTimeout bounds the first questions to the server.
	askTimeout = 15 * time.Second
)

// connection is kubectl's connection flags.
type connection struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

func (c *connection) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "Path to the kubeconfig `FILE`")
	// What discovery says is not kept on disk. It would save one round trip, and
	// could be wrong without a 404 to show it: when a name has come to mean another
	// resource, another version is preferred, a category has one member more, or a
	// resource that was cluster-scoped lives in namespaces now.
	f.String("cache-dir", "", "Without effect: dwatch keeps no cache in a `DIR`")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{} // ours takes several
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	clientcmd.BindOverrideFlags(&c.overrides, f, names)
}

// loader reads the kubeconfig by kubectl's rules: --kubeconfig, $KUBECONFIG,
// ~/.kube/config, in the cluster. It opens no file before it is asked.
func (c *connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
}

// cluster is the way to one API server.
type cluster struct {
	host      string
	namespace string
	// requestTimeout is --request-timeout; 0 means none was given. It bounds
	// questions, never a watch.
	requestTimeout time.Duration
	config         *rest.Config
	http           *http.Client
}

// connect reads the configuration. It does not talk to the server.
func (c *connection) connect(warnings rest.WarningHandler) (*cluster, error) {
	if timeout, err := clientcmd.ParseTimeout(c.overrides.Timeout); err != nil || timeout < 0 {
		return nil, usageError{fmt.Errorf("invalid --request-timeout %q: it takes seconds, or a number with a unit such as 1s, 2m or 3h", c.overrides.Timeout)}
	}
	loader := c.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, usageError{c.configError(loader, err)}
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, usageError{c.configError(loader, err)}
	}
	if _, _, err := rest.DefaultServerUrlFor(config); err != nil {
		// The error would quote all of the address, and there may be a password in it.
		return nil, usageError{fmt.Errorf("invalid server address %q: it takes a URL or HOST:PORT", hostOf(config.Host))}
	}
	result := &cluster{host: hostOf(config.Host), namespace: namespace, requestTimeout: config.Timeout}
	// The HTTP client's timeout would cut every watch; the client's own rate
	// limit would only slow the start down: the server has its own.
	config.Timeout = 0
	config.QPS = -1
	config.UserAgent = userAgent()
	config.WarningHandler = warnings
	config.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	result.config = config
	if result.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, usageError{c.configError(loader, err)}
	}
	return result, nil
}

// configError says in one line what is wrong with the configuration.
func (c *connection) configError(loader clientcmd.ClientConfig, err error) error {
	config, unreadable := loader.RawConfig()
	if unreadable != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	current := cmp.Or(c.overrides.CurrentContext, config.CurrentContext)
	asked := c.overrides.Context
	switch {
	case clientcmd.IsEmptyConfig(err) && len(config.Contexts) == 0 && len(config.Clusters) == 0:
		return errors.New(noConfig(loader.ConfigAccess().GetLoadingPrecedence()))
	case current != "" && config.Contexts[current] == nil:
		return missing("context", current, config.Contexts)
	case asked.Cluster != "" && config.Clusters[asked.Cluster] == nil:
		return missing("cluster", asked.Cluster, config.Clusters)
	case asked.AuthInfo != "" && config.AuthInfos[asked.AuthInfo] == nil:
		return missing("user", asked.AuthInfo, config.AuthInfos)
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

// names lists what there is to choose from.
func names[T any](there map[string]T) string {
	if len(there) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(there)), ", ")
}

func (c *cluster) discovery() (*discovery.DiscoveryClient, error) {
	return discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
}

// ask bounds questions to the server.
func (c *cluster) ask(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := askTimeout
	if c.requestTimeout > 0 {
		timeout = c.requestTimeout
	}
	return context.WithTimeout(ctx, timeout)
}
