package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"

	"dwatch/cli/fail"
)

const (
	dialTimeout = 5 * time.Second  // limits connecting to an address
	askTimeout  = 15 * time.Second // limits requests other than watches if no --request-timeout was given
)

// Cluster is the connection to one API server.
type Cluster struct {
	Host           string        // the server's address without credentials
	Context        string        // the kubeconfig context, or empty if there is none or --server overrides it
	Namespace      string        // of the kubeconfig context
	RequestTimeout time.Duration // of requests other than watches; zero if none was given
	Config         *rest.Config  // without a timeout, like HTTP
	HTTP           *http.Client

	plugin *plugin              // nil without a credential plugin
	dialer *connrotation.Dialer // of all connections except the ones of NewSeparateClient
}

var dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext

// Options receive messages about the connection.
type Options struct {
	// Warnings handles warnings in the server's answers. If nil, client-go logs them.
	Warnings rest.WarningHandler
	// Notify receives a line for people when a credential plugin takes long. It is called from any goroutine. If nil, there
	// is no such line.
	Notify func(line string)
}

// Connect reads the configuration. It makes no request. The stderr of a credential plugin is the stderr of the process,
// because client-go does not allow another.
func (f *Flags) Connect(o Options) (*Cluster, error) {
	if timeout, err := clientcmd.ParseTimeout(f.overrides.Timeout); err != nil || timeout < 0 {
		return nil, fail.Usage(fmt.Errorf("invalid --request-timeout %q: it takes seconds, or a number with a unit such as 1s, 2m or 3h", f.overrides.Timeout))
	}
	if err := f.one(); err != nil {
		return nil, err
	}
	loader := f.firstLoader()
	if err := f.checkFiles(loader); err != nil {
		return nil, fail.Usage(err)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fail.Usage(f.configError(loader, err))
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fail.Usage(f.configError(loader, err))
	}
	if _, _, err := rest.DefaultServerUrlFor(config); err != nil {
		// The error would quote the whole address, which may contain a password.
		return nil, fail.Usage(fmt.Errorf("invalid server address %q: it takes a URL or HOST:PORT", fail.DisplayHost(config.Host)))
	}
	result := &Cluster{Host: fail.DisplayHost(config.Host), Context: f.context(loader), Namespace: namespace, RequestTimeout: config.Timeout, Config: config}
	config.UserAgent = f.UserAgent
	if err := result.prepare(o); err != nil {
		return nil, fail.Usage(f.configError(loader, err))
	}
	return result, nil
}

func (c *Cluster) prepare(o Options) (err error) {
	config := c.Config
	// The HTTP client's timeout would end every watch. The client's rate limit would only slow down the start, since the
	// server has its own.
	config.Timeout = 0
	config.QPS = -1
	config.WarningHandler = o.Warnings
	c.dialer = connrotation.NewDialer(dial)
	config.Dial = c.dialer.DialContext
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return retryClosed{next} })
	readTokenAgain(config)
	c.plugin = newPlugin(config, o.Notify)
	c.HTTP, err = newClient(config, c.plugin)
	return err
}

// readTokenAgain makes client-go read a token file again after the server has refused the token. By default it reads the
// file once a minute.
func readTokenAgain(config *rest.Config) {
	if config.BearerTokenFile == "" {
		return
	}
	config.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedFileTokenSource(config.BearerTokenFile)))
	config.BearerToken, config.BearerTokenFile = "", ""
}

// NewSeparateClient returns a client with its own HTTP/1.1 connections. A request that times out closes only its own
// connection. The other clients share an HTTP/2 connection, and client-go takes most of a minute to notice that it is dead.
func (c *Cluster) NewSeparateClient() (*http.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.NextProtos = []string{"http/1.1"}
	config.Dial = dial
	return newClient(config, c.plugin)
}

// CloseConnections closes all connections except the ones of NewSeparateClient. Requests in flight fail, and later ones use
// new connections.
func (c *Cluster) CloseConnections() {
	if c.dialer != nil {
		c.dialer.CloseAll()
	}
}

// DisplayName returns the name of the context, or the address if there is none.
func (c *Cluster) DisplayName() string { return cmp.Or(c.Context, c.Host) }

func (c *Cluster) NewDiscoveryClient() (*discovery.DiscoveryClient, error) {
	return discovery.NewDiscoveryClientForConfigAndClient(c.Config, c.HTTP)
}

// QuietConfig returns a copy of Config for JSON requests whose warnings are ignored.
func (c *Cluster) QuietConfig() *rest.Config {
	config := rest.CopyConfig(c.Config)
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType = runtime.ContentTypeJSON // not every API server supports protobuf
	return config
}

// WithTimeout limits requests to RequestTimeout, or to 15 seconds if it is zero.
func (c *Cluster) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := askTimeout
	if c.RequestTimeout > 0 {
		timeout = c.RequestTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// WithoutImpersonation returns a Cluster without --as, and the user that --as names, or an empty string. Printing roles for a
// user does not need the permission to impersonate that user.
func (c *Cluster) WithoutImpersonation() (self *Cluster, as string, err error) {
	oneself := *c
	oneself.Config = rest.CopyConfig(c.Config)
	oneself.Config.Impersonate = rest.ImpersonationConfig{}
	if oneself.HTTP, err = newClient(oneself.Config, c.plugin); err != nil {
		return nil, "", fmt.Errorf("client: %w", err)
	}
	return &oneself, c.Config.Impersonate.UserName, nil
}

// ListNamespaces returns the metadata of all namespaces.
func (c *Cluster) ListNamespaces(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	client, err := metadata.NewForConfigAndClient(c.QuietConfig(), c.HTTP)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Identity returns the UID of the namespace kube-system, which other tools also use to identify a cluster. It is empty if the
// user may not read the namespace or it does not exist.
func (c *Cluster) Identity(ctx context.Context) (string, error) {
	d, err := c.NewDiscoveryClient()
	if err != nil {
		return "", err
	}
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	text, err := d.RESTClient().Get().AbsPath("/api/v1/namespaces", metav1.NamespaceSystem).DoRaw(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	var ns unstructured.Unstructured
	if err == nil {
		err = ns.UnmarshalJSON(text)
	}
	return string(ns.GetUID()), err
}

// SupportsShardSelector reports whether the server applies a shard selector (KEP-5866) to lists at a path.
func (c *Cluster) SupportsShardSelector(ctx context.Context, path, selector string) (bool, error) {
	d, err := c.NewDiscoveryClient()
	if err != nil {
		return false, err
	}
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	text, err := d.RESTClient().Get().AbsPath(path).Param("limit", "1").Param("shardSelector", selector).DoRaw(ctx)
	var list struct {
		Metadata struct {
			ShardInfo *struct{} `json:"shardInfo"`
		} `json:"metadata"`
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list.Metadata.ShardInfo != nil, err
}

// EndpointHash returns a hash of the server's address and its certificate authority. It identifies the cluster for users who
// may not read Identity. It is empty if the connection is not HTTPS or certificates are not verified.
func (c *Cluster) EndpointHash() (string, error) {
	address, path, err := rest.DefaultServerUrlFor(c.Config)
	tls := c.Config.TLSClientConfig
	if err != nil || address.Scheme != "https" || tls.Insecure {
		return "", err
	}
	certificates := tls.CAData
	if len(certificates) == 0 && tls.CAFile != "" {
		if certificates, err = os.ReadFile(tls.CAFile); err != nil {
			return "", err
		}
	}
	address.User = nil
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %s", address, path, tls.ServerName, bytes.TrimSpace(certificates)))
	return hex.EncodeToString(sum[:]), nil
}
