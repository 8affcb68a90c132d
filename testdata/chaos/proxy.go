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

// proxy stands between dwatch and the API server, on loopback, and misbehaves
// when it is told to. It speaks TLS, HTTP/1.1 and HTTP/2.
//
// No library was found to fit. Toxiproxy works on TCP: what is inside TLS it can't
// see, so it can aim at no request and at no event. HTTP middlewares for faults
// (such as github/go-fault) answer instead of the server or slow it down, but do
// not touch a body under way. What is left to do here is little: the standard
// library's ReverseProxy does the rest.
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

// startProxy starts a proxy to the server that config leads to.
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
	// httptest knows how to make a certificate for loopback.
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

// stop ends all connections and waits for what was under way.
func (p *proxy) stop() {
	p.server.Close()
	p.listener.Close()
	p.serving.Wait()
}

// rewrite leads a request to the server, with credentials that the server knows.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.upstream)
	r.Out.Header.Del("Authorization")   // the transport has its own
	r.Out.Header.Del("Accept-Encoding") // editors want to read what comes
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

// roundTrip asks the server. The answer goes through the editors.
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
		b.poke <- struct{}{} // they may act before the first frame
	}
	p.mu.Lock()
	p.bodies[b] = true
	p.mu.Unlock()
	response.Body = b
	return response, nil
}

type runKey struct{}

// inRun takes the run of dwatch out of the path of a request.
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

// credentials is the file with the token that the proxy admits, in the form of
// an exec plugin's answer.
type credentials struct {
	path  string
	token string
}

// expire makes up a new token: the one before is refused from now on.
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
