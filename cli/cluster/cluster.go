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
	dialTimeout = 5 * time.Second  // for an address that does not answer
	askTimeout  = 15 * time.Second // for the first questions to the server
)

// Cluster is the way to one API server.
type Cluster struct {
	Host           string        // the server's address without what may be secret
	Context        string        // that of the kubeconfig; empty where none was chosen
	Namespace      string        // of the kubeconfig context
	RequestTimeout time.Duration // of questions, never of a watch; 0: none was given
	Config         *rest.Config  // which has no timeout, as HTTP has none
	HTTP           *http.Client

	plugin *plugin              // nil: the credentials come from elsewhere
	dialer *connrotation.Dialer // of all connections but those apart
}

var dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext

// Options take what comes on the way to the server.
type Options struct {
	// Warnings gets those of the server; nil: they are logged.
	Warnings rest.WarningHandler
	// Note gets a line for people when something takes long, from any goroutine;
	// nil: nothing is said.
	Notify func(line string)
}

// Connect reads the configuration. It makes no request. What a credential
// plugin says goes to the process's stderr: client-go lets nobody choose.
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
		// The error would quote all of the address, and there may be a password in it.
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
	// The HTTP client's timeout would cut every watch; the client's own rate
	// limit would only slow the start down: the server has its own.
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

// readTokenAgain has a token in a file be read again once it is refused, by each second request. By itself client-go reads the file
// once a minute, whatever the server says of what it had.
func readTokenAgain(config *rest.Config) {
	if config.BearerTokenFile == "" {
		return
	}
	config.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedFileTokenSource(config.BearerTokenFile)))
	config.BearerToken, config.BearerTokenFile = "", ""
}

// Apart returns a client with connections of its own, which share nothing: one is given up with a question that is not answered in time.
// It takes client-go most of a minute to find out that nobody is at the end of one of HTTP/2, over which all else is asked.
func (c *Cluster) NewSeparateClient() (*http.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.NextProtos = []string{"http/1.1"}
	config.Dial = dial
	return newClient(config, c.plugin)
}

// Renew closes all connections but those apart, and ends with them what is still asked: what is asked next is asked over new ones.
func (c *Cluster) CloseConnections() {
	if c.dialer != nil {
		c.dialer.CloseAll()
	}
}

// Place is which cluster it is, in a word: the context that was chosen, or the address.
func (c *Cluster) DisplayName() string { return cmp.Or(c.Context, c.Host) }

func (c *Cluster) NewDiscoveryClient() (*discovery.DiscoveryClient, error) {
	return discovery.NewDiscoveryClientForConfigAndClient(c.Config, c.HTTP)
}

// Quiet is the configuration of questions about which people need no warnings.
func (c *Cluster) QuietConfig() *rest.Config {
	config := rest.CopyConfig(c.Config)
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType = runtime.ContentTypeJSON // not all that speaks the API speaks protobuf
	return config
}

// Ask bounds questions to the server.
func (c *Cluster) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := askTimeout
	if c.RequestTimeout > 0 {
		timeout = c.RequestTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// WithoutImpersonation returns c without --as, and the user that --as names; empty
// without it. To print roles for a user takes no right to impersonate that user.
func (c *Cluster) WithoutImpersonation() (self *Cluster, as string, err error) {
	oneself := *c
	oneself.Config = rest.CopyConfig(c.Config)
	oneself.Config.Impersonate = rest.ImpersonationConfig{}
	if oneself.HTTP, err = newClient(oneself.Config, c.plugin); err != nil {
		return nil, "", fmt.Errorf("client: %w", err)
	}
	return &oneself, c.Config.Impersonate.UserName, nil
}

// Namespaces returns the metadata of all that there are.
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

// Identity returns what identifies the cluster, as other tools do it, too: the UID
// of the namespace kube-system. It is empty where the user may not see that.
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

// HasShards reports whether the server leaves out of a list at a path what is not in the shard that it is asked
// for by a selector (KEP-5866).
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

// Endpoint stands for the address of the server, and the certificates that prove that it is there: who
// may not see what identifies the cluster knows it by that. It is empty where nothing is proven.
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

// ServerPorts returns where the API servers themselves listen, behind the Service that stands for
// them, as far as the user may see that.
func (c *Cluster) APIServerPorts(ctx context.Context) ([]int, error) {
	d, err := c.NewDiscoveryClient()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	text, err := d.RESTClient().Get().AbsPath("/apis/discovery.k8s.io/v1/namespaces", metav1.NamespaceDefault, "endpointslices", "kubernetes").DoRaw(ctx)
	var slice struct {
		Ports []struct{ Port int }
	}
	if err == nil {
		err = json.Unmarshal(text, &slice)
	}
	var ports []int
	for _, p := range slice.Ports {
		ports = append(ports, p.Port)
	}
	return ports, err
}
