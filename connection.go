package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
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
	loader := c.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, usageError{configError(err)}
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, usageError{configError(err)}
	}
	result := &cluster{host: config.Host, namespace: namespace, requestTimeout: config.Timeout}
	// The HTTP client's timeout would cut every watch; the client's own rate
	// limit would only slow the start down: the server has its own.
	config.Timeout = 0
	config.QPS = -1
	config.UserAgent = userAgent()
	config.WarningHandler = warnings
	config.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	result.config = config
	if result.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, usageError{configError(err)}
	}
	return result, nil
}

// configError says in one line what is wrong with the configuration.
func configError(err error) error {
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		return errors.New("no kubeconfig found and not in a cluster: set KUBECONFIG, or use --kubeconfig or --server")
	}
	return fmt.Errorf("kubeconfig: %w", err)
}

func (c *cluster) discovery() (*discovery.DiscoveryClient, error) {
	return discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
}

func (c *cluster) dynamic() (*dynamic.DynamicClient, error) {
	return dynamic.NewForConfigAndClient(c.config, c.http)
}

// ask bounds questions to the server.
func (c *cluster) ask(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := askTimeout
	if c.requestTimeout > 0 {
		timeout = c.requestTimeout
	}
	return context.WithTimeout(ctx, timeout)
}
