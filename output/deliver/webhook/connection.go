package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"dwatch/output/deliver"
	"dwatch/output/deliver/secret"
)

const (
	// dialTimeout is for the TCP connection, and handshakeTimeout for TLS.
	dialTimeout, handshakeTimeout = 10 * time.Second, 10 * time.Second
	// idleTimeout is how long an unused connection stays open.
	idleTimeout = 90 * time.Second
	// largeBody is the minimum size of a body for which a request has the header "Expect: 100-continue". The body is then sent
	// when the server agrees, or after expectTimeout, as in curl. Without the header, a server that refuses the body and closes
	// the connection would look as if it were down.
	largeBody, expectTimeout = 1 << 20, time.Second
	// longestHead is the maximum size of the headers of a response.
	longestHead = 64 << 10
)

// caFlag is the flag for trusted authorities.
const caFlag = "--to-ca"

// transport has the connections of a Receiver.
type transport struct {
	roots *secret.Value[*x509.CertPool] // nil means the authorities of the system

	mu      sync.Mutex
	current *http.Transport
}

// get returns the current transport. It replaces the transport when the trusted authorities change, so that older connections are
// not reused.
func (t *transport) get() (*http.Transport, error) {
	roots, err := t.roots.Get()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if roots != nil && roots != t.current.TLSClientConfig.RootCAs {
		t.current.CloseIdleConnections()
		t.current = t.current.Clone()
		t.current.TLSClientConfig.RootCAs = roots
	}
	return t.current, nil
}

func newTransport(o Options) (*http.Transport, error) {
	tlsConfig, err := secret.TLSConfig(o.TLS)
	if err != nil {
		return nil, err
	}
	return transportTo(o.URL, tlsConfig, o.Workers)
}

// NewTransport returns a transport for other requests, with the same limits as a Receiver. ca is a file with the trusted authorities.
// If empty, the authorities of the system are trusted. flag is the flag that names the file.
func NewTransport(to *url.URL, ca, flag string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := secret.SetRootCAs(config, ca, flag); err != nil {
		return nil, err
	}
	return transportTo(to, config, 1)
}

// transportTo returns a transport for HTTP/1.1. A request that hangs ends with its connection. With HTTP/2 it could affect other
// requests on the same connection.
func transportTo(address *url.URL, tlsConfig *tls.Config, workers int) (*http.Transport, error) {
	proxy, err := proxyTo(address)
	if err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		OnProxyConnectResponse: checkProxy,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    handshakeTimeout,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    max(workers, 1),
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  expectTimeout,
		MaxResponseHeaderBytes: longestHead,
		WriteBufferSize:        16 << 10, // a message of the usual size is one write
		Protocols:              protocols,
	}, nil
}

// proxyTo returns the proxy from the environment for an address, or nil. Errors do not contain the proxy, which may have a
// password.
func proxyTo(address *url.URL) (*url.URL, error) {
	config := httpproxy.FromEnvironment()
	for _, proxy := range []string{config.HTTPSProxy, config.HTTPProxy} {
		if !strings.Contains(proxy, "://") {
			proxy = "http://" + proxy
		}
		if _, err := url.Parse(proxy); err != nil { // ProxyFunc would silently use no proxy
			return nil, errors.New("HTTPS_PROXY or HTTP_PROXY in the environment is not a URL")
		}
	}
	proxy, err := config.ProxyFunc()(address)
	if err != nil {
		return nil, errors.New("HTTPS_PROXY or HTTP_PROXY in the environment can't be used")
	}
	return proxy, nil
}

// checkProxy returns an error if a proxy refuses to connect.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the proxy responded %s", describeStatus(answer.StatusCode))
}

// unanswered returns the error for a request without a response. It is a DownError if there was no connection.
func (w *Receiver) unanswered(ctx context.Context, err error, connected bool) error {
	late, isLate := errors.AsType[*deliver.DeadlineError](context.Cause(ctx))
	switch {
	case isLate:
		err = fmt.Errorf("no answer within %s (--deadline)", late.After)
	case connected && strings.Contains(err.Error(), "malformed "): // err quotes the response, which may echo credentials
		err = errors.New("it does not answer in HTTP")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it closed the connection without an answer")
	}
	if connected {
		return err
	}
	return &deliver.DownError{Err: secret.ExplainConnectionError(err, caFlag)}
}
