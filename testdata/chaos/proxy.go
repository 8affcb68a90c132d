package main

import (
	"context"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// proxy is a proxy between dwatch and the API server that injects faults. It listens on loopback and supports TLS,
// HTTP/1.1 and HTTP/2.
//
// No existing library fits. Toxiproxy works on TCP and can't see requests and events inside TLS. HTTP middlewares for
// faults, such as github/go-fault, answer instead of the server or delay it, but do not change response bodies. Most of
// the work is done by ReverseProxy of the standard library.
type proxy struct {
	*listener
	server   *http.Server
	ca       []byte
	upstream *url.URL
	counter  *counter
	witness  *witness
	serving  sync.WaitGroup

	mu     sync.Mutex
	tokens credentials
	rules  []*rule
	bodies map[*body]bool
}

// startProxy starts a proxy to the server of config.
func startProxy(config *rest.Config, tokens credentials) (*proxy, error) {
	upstream, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	p := &proxy{upstream: upstream, tokens: tokens, counter: newCounter(), witness: &witness{}, bodies: map[*body]bool{}}
	if p.listener, err = listen(); err != nil {
		return nil, err
	}
	reverse := &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     roundTripper(func(r *http.Request) (*http.Response, error) { return p.roundTrip(transport, r) }),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	// httptest makes a certificate for loopback.
	test := httptest.NewUnstartedServer(p.handler(reverse))
	test.Listener.Close()
	test.Listener = p.listener
	test.EnableHTTP2 = true
	test.Config.ErrorLog = log.New(io.Discard, "", 0)
	test.StartTLS()
	p.server = test.Config
	p.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: test.Certificate().Raw})
	return p, nil
}

func (p *proxy) url() string { return "https://" + p.address }

// stop closes all connections and waits for the running requests.
func (p *proxy) stop() {
	p.server.Close()
	p.listener.Close()
	p.serving.Wait()
}

// rewrite directs a request to the server, with the credentials of the transport.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.upstream)
	r.Out.Header.Del("Authorization")   // the transport sets its own
	r.Out.Header.Del("Accept-Encoding") // editors need uncompressed bodies
}

func (p *proxy) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.serving.Add(1)
		defer p.serving.Done()
		r = inRun(r)
		q := queryOf(r)
		p.counter.count(q)
		if !p.admits(r) {
			respond(w, http.StatusUnauthorized, "Unauthorized", "the token has expired")
			return
		}
		for _, rule := range p.rulesFor(q) {
			if rule.before != nil {
				rule.before(w, r)
			}
			if rule.answer != nil {
				rule.answer(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// roundTrip sends a request to the server. The body of the answer goes through the editors.
func (p *proxy) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Request = r
	q := queryOf(r)
	var editors []editor
	for _, rule := range p.rulesFor(q) {
		if rule.edit != nil {
			editors = append(editors, rule.edit())
		}
	}
	if !q.isWatch() && len(editors) == 0 {
		return response, nil
	}
	b := newBody(q, response, editors, p.forget)
	if q.isWatch() {
		b.last = p.witness.follow(runOf(r.Context()), q)
	}
	if len(editors) > 0 {
		response.ContentLength = -1
		response.Header.Del("Content-Length")
		b.poke <- struct{}{} // let them act before the first frame
	}
	p.mu.Lock()
	p.bodies[b] = true
	p.mu.Unlock()
	response.Body = b
	return response, nil
}

type runKey struct{}

// inRun moves the run of dwatch from the path of a request to its context.
func inRun(r *http.Request) *http.Request {
	run, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	r = r.WithContext(context.WithValue(r.Context(), runKey{}, run))
	r.URL.Path, r.URL.RawPath = "/"+rest, ""
	return r
}

func runOf(ctx context.Context) string {
	run, _ := ctx.Value(runKey{}).(string)
	return run
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (p *proxy) forget(b *body) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.bodies, b)
}

// credentials is the token that the proxy accepts, and the file that has it as the output of an exec plugin.
type credentials struct {
	path  string
	token string
}

// expire replaces the token. The proxy refuses the previous one.
func (p *proxy) expire() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens.renew()
}

func (p *proxy) admits(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return r.Header.Get("Authorization") == "Bearer "+p.tokens.token
}

func (c *credentials) renew() error {
	c.token = rand.Text()
	return replaceFile(c.path, fmt.Sprintf(
		`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":%q}}`, c.token))
}
