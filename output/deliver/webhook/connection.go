package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"dwatch/output/deliver"
	"dwatch/output/deliver/secret"
)

const (
	// dialTimeout bounds how long an address that does not answer is tried, and
	// handshakeTimeout what comes before the first request.
	dialTimeout, handshakeTimeout = 10 * time.Second, 10 * time.Second
	// idleTimeout is how long a connection is kept that nothing is sent over.
	idleTimeout = 90 * time.Second
	// largeBody is from what size on a body is sent only when the receiver wants it, or has
	// not said anything about it for expectTimeout. One that refuses it, and closes the
	// connection, would else be taken for one that is gone. It is as curl does it.
	largeBody, expectTimeout = 1 << 20, time.Second
	// longestHead is how long the headers of an answer may be.
	longestHead = 64 << 10
)

// caFlag is the flag that names authorities.
const caFlag = "--to-ca"

func newTransport(o Options) (*http.Transport, error) {
	tlsConfig, err := secret.TLSConfig(o.TLS)
	if err != nil {
		return nil, err
	}
	return transportTo(o.URL, tlsConfig, o.Workers)
}

// Transport returns what makes connections to an address, as those of a Webhook are made, for who asks there. ca is a
// file with the authorities that are trusted, and flag says which one: empty for those of the system.
func NewTransport(to *url.URL, ca, flag string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := secret.SetRootCAs(config, ca, flag); err != nil {
		return nil, err
	}
	return transportTo(to, config, 1)
}

// transportTo returns what makes the connections. They are of HTTP/1.1: a try that hangs
// ends with its connection, and does not hold up those that would share one of HTTP/2.
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

// proxyTo returns the proxy that the environment has for an address; nil: none. No error
// has it in it, since there may be a password in that.
func proxyTo(address *url.URL) (*url.URL, error) {
	config := httpproxy.FromEnvironment()
	for _, proxy := range []string{config.HTTPSProxy, config.HTTPProxy} {
		if !strings.Contains(proxy, "://") {
			proxy = "http://" + proxy
		}
		if _, err := url.Parse(proxy); err != nil { // else it would be left out in silence
			return nil, errors.New("HTTPS_PROXY or HTTP_PROXY in the environment is no URL")
		}
	}
	proxy, err := config.ProxyFunc()(address)
	if err != nil {
		return nil, errors.New("HTTPS_PROXY or HTTP_PROXY in the environment can't be used")
	}
	return proxy, nil
}

// checkProxy says why a proxy leads nowhere.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the proxy answers %s", said(answer.StatusCode))
}

// unanswered says why there was no answer. Without a connection, no message would fare better.
func (w *Receiver) unanswered(ctx context.Context, err error, connected bool) error {
	late, isLate := errors.AsType[*deliver.DeadlineError](context.Cause(ctx))
	switch {
	case isLate:
		err = fmt.Errorf("no answer within %s (--deadline)", late.After)
	case connected && strings.Contains(err.Error(), "malformed "): // and says what came, which may be what was sent
		err = errors.New("it does not answer in HTTP")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends the connection without an answer")
	}
	if connected {
		return err
	}
	return &deliver.DownError{Err: secret.ExplainConnectionError(err, caFlag)}
}
