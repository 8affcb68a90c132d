package page

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxViewers is how many viewers are served at the same time.
	maxViewers = 250
	// goodbye is how long viewers have at the end to take what they are sent.
	goodbye = 2 * time.Second
)

// ServerOptions say how a page is served.
type ServerOptions struct {
	// Listener is where. It is closed in the end.
	Listener net.Listener
	// Certificate makes it TLS, and has its Leaf; nil: plain.
	Certificate *tls.Certificate
	// Proxied: what stands before it sends the Host that it was asked for.
	BehindProxy bool
	// Recording answers who asks for what is recorded beside the page; nil: nothing is.
	RecordingHandler http.Handler
}

// Server serves what a Hub has.
type Server struct {
	hub      *Hub
	options  ServerOptions
	token    string
	http     *http.Server
	viewers  chan struct{} // has one for each
	patience time.Duration
	// ctx is of all requests; cancel ends them.
	ctx    context.Context
	cancel context.CancelFunc
	asking *lookupCache[kubeEventItem]
	before *lookupCache[reconstructedItem]
	hubs   *historyHubs // of times of the past

	mu      sync.Mutex // for what follows
	closing bool
	once    string         // a token that leads in one time; empty: none
	active  sync.WaitGroup // requests
}

// NewServer returns a Server that does not serve yet.
func NewServer(hub *Hub, o ServerOptions) *Server {
	s := &Server{
		hub: hub, options: o, token: random(), hubs: newHistoryHubs(hub),
		viewers:  make(chan struct{}, maxViewers),
		patience: patience,
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.asking, s.before = newLookupCache(s.ctx, func(h *Hub) lookupFunc[kubeEventItem] { return kubeEventLookup{h}.lookup }), newLookupCache(s.ctx, func(h *Hub) lookupFunc[reconstructedItem] { return reconstructedLookup{h}.lookup })
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ErrorLog:          stdlog.New(io.Discard, "", 0), // of what others send
	}
	return s
}

// URL is the address with the token in it.
func (s *Server) URL() string { return s.url(s.token) }

// OneTimeURL is an address that leads in one time only, until the next one is made: for a program,
// of which everybody on the machine sees with what it was started.
func (s *Server) OneTimeURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.once = random()
	return s.url(s.once)
}

func (s *Server) url(token string) string {
	scheme := "http"
	if s.options.Certificate != nil {
		scheme = "https"
	}
	return scheme + "://" + s.address() + "/?token=" + token
}

func (s *Server) address() string {
	text := s.options.Listener.Addr().String()
	address, err := netip.ParseAddrPort(text)
	if err != nil || !address.Addr().IsUnspecified() {
		return text
	}
	host := "127.0.0.1"
	if c := s.options.Certificate; c != nil && len(c.Leaf.DNSNames) > 0 {
		host = c.Leaf.DNSNames[0]
	}
	return net.JoinHostPort(host, strconv.Itoa(int(address.Port())))
}

// Serve serves until Close is called.
func (s *Server) Serve() error {
	listener := s.options.Listener
	if s.options.Certificate != nil {
		listener = tls.NewListener(listener, &tls.Config{
			Certificates: []tls.Certificate{*s.options.Certificate},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"}, // of HTTP/2 a WebSocket could not be made
		})
	}
	err := s.http.Serve(listener)
	if s.mu.Lock(); s.closing {
		err = nil
	}
	s.mu.Unlock()
	return err
}

// Close says goodbye to the viewers, for this reason, and returns when the last request
// has ended. Those who do not take it are left behind after a moment.
func (s *Server) Close(reason string) {
	s.hub.Close(reason)
	s.hubs.close(reason)
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.options.Listener.Close()
	late := time.AfterFunc(goodbye, func() {
		s.cancel()
		s.http.Close()
	})
	defer late.Stop()
	s.active.Wait()
	// Shutdown would wait longer, for connections on which a browser asks for nothing.
	s.http.Close()
	s.cancel()
	s.asking.working.Wait()
	s.before.working.Wait()
	s.hubs.reading.Wait()
}

func (s *Server) handler() http.Handler {
	routes := map[string]http.HandlerFunc{
		"/":            s.index,
		"/ws":          s.viewing(s.socket),
		"/api/events":  s.viewing(s.events),
		"/api/objects": s.searching((*Hub).objects),
		"/api/object":  s.searching((*Hub).object),
		"/api/feed":    s.searching((*Hub).feed),
		"/api/held":    s.searching((*Hub).held),
		"/api/yaml":    s.searching(func(h *Hub, r *http.Request) (any, error) { return objectAtTimeLookup{h}.find(r) }),
		"/api/leadup":  s.searching(func(h *Hub, r *http.Request) (any, error) { return leadUpLookup{h}.find(r) }),
		"/api/about":   s.viewing(s.asking.serve(s)),
		"/api/before":  s.viewing(s.before.serve(s)),

		"/api/recording": s.viewing(s.recording),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			fail(w, http.StatusServiceUnavailable, "the run has ended")
			return
		}
		defer s.active.Done()
		setHeaders(w.Header())
		if !s.guard(w, r) {
			return
		}
		serve := routes[r.URL.Path]
		if serve == nil {
			serve = asset
		}
		serve(w, r)
	})
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.active.Add(1)
	}
	return !s.closing
}

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (s *Server) index(w http.ResponseWriter, _ *http.Request) { serveFile(w, "assets/index.html") }

func asset(w http.ResponseWriter, r *http.Request) {
	serveFile(w, strings.TrimPrefix(r.URL.Path, "/"))
}

// contentTypes are those of the page's files. What the machine has configured has no part in it.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".txt":  "text/plain; charset=utf-8",
}

// serveFile serves what is embedded. With the file server of net/http dwatch is a megabyte larger.
func serveFile(w http.ResponseWriter, name string) {
	text, err := embedded.ReadFile(name)
	kind := contentTypes[path.Ext(name)]
	if err != nil || kind == "" {
		fail(w, http.StatusNotFound, "there is nothing under this path")
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(text)
}

func (s *Server) viewing(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			fail(w, http.StatusMethodNotAllowed, "a stream can only be read")
			return
		}
		select {
		case s.viewers <- struct{}{}:
			defer func() { <-s.viewers }()
			serve(w, r)
		default:
			fail(w, http.StatusServiceUnavailable, "there are too many viewers already")
		}
	}
}

// recording gives what is recorded beside the page.
func (s *Server) recording(w http.ResponseWriter, r *http.Request) {
	if s.options.RecordingHandler == nil {
		fail(w, http.StatusNotFound, "this run records nothing")
		return
	}
	s.options.RecordingHandler.ServeHTTP(w, r)
}

// searching makes requests that look at many objects wait for each other, until their answer is
// written, and gives up those who do not take it.
func (s *Server) searching(find func(*Hub, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		hub, leave, err := s.hubAt(r)
		if err != nil {
			unshown(w, err)
			return
		}
		defer leave()
		release, err := s.hub.search(r.Context())
		if err != nil {
			fail(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		defer release()
		code, found := http.StatusOK, any(nil)
		switch found, err = find(hub, r); {
		case errors.Is(err, errNotRetained):
			code = http.StatusNotFound
		case err != nil:
			code = http.StatusBadRequest
		}
		if err != nil {
			found = problem(err.Error())
		}
		text := encode(found)
		release()
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience))
		answer(w, code, text)
	}
}
