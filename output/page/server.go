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
	// maxViewers is the maximum number of concurrent viewers, including other long requests.
	maxViewers = 250
	// goodbye is how long Close waits for viewers to receive their last messages.
	goodbye = 2 * time.Second
)

// ServerOptions configure a Server.
type ServerOptions struct {
	// Listener accepts the connections. Close closes it.
	Listener net.Listener
	// Certificate enables TLS. Its Leaf must be set. nil serves plain HTTP.
	Certificate *tls.Certificate
	// BehindProxy trusts the X-Forwarded-Proto header and accepts any Host header.
	BehindProxy bool
	// RecordingHandler serves /api/recording: the recordings in the directory that this run writes to. nil means that it
	// writes none.
	RecordingHandler http.Handler
}

// Server serves the page and the API of a Hub.
type Server struct {
	hub      *Hub
	options  ServerOptions
	token    string
	http     *http.Server
	viewers  chan struct{} // semaphore
	patience time.Duration // the constant patience, except in tests
	// ctx is the parent of all requests' contexts.
	ctx    context.Context
	cancel context.CancelFunc
	asking *lookupCache[kubeEventItem]     // for /api/about
	before *lookupCache[reconstructedItem] // for /api/before
	hubs   *historyHubs                    // for times of the past

	mu      sync.Mutex // guards closing, once, and the start of requests in active
	closing bool
	once    string         // unused one-time token; empty means none
	active  sync.WaitGroup // running requests
}

// NewServer returns a Server for a Hub. Serve starts it.
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
		ErrorLog:          stdlog.New(io.Discard, "", 0), // clients could flood it
	}
	return s
}

// URL returns the URL of the page with the token.
func (s *Server) URL() string { return s.url(s.token) }

// OneTimeURL returns a URL that can be opened once. A later call invalidates it. It is safe to pass to a program whose
// arguments other users of the machine can see.
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
			NextProtos:   []string{"http/1.1"}, // WebSockets need HTTP/1.1
		})
	}
	err := s.http.Serve(listener)
	if s.mu.Lock(); s.closing {
		err = nil
	}
	s.mu.Unlock()
	return err
}

// Close closes the Hub, sends reason to all viewers, and returns when all requests have ended. It cancels requests that
// take longer than 2 seconds.
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
	// Shutdown would also wait for idle connections.
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

// contentTypes has the content types of the embedded files by extension, independent of the machine's configuration.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".txt":  "text/plain; charset=utf-8",
}

// serveFile serves an embedded file. http.FileServer would make the binary a megabyte larger.
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

// viewing limits long requests to maxViewers at the same time, and to the method GET.
func (s *Server) viewing(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			fail(w, http.StatusMethodNotAllowed, "only GET is allowed")
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

// recording passes a request to RecordingHandler.
func (s *Server) recording(w http.ResponseWriter, r *http.Request) {
	if s.options.RecordingHandler == nil {
		fail(w, http.StatusNotFound, "this run records nothing")
		return
	}
	s.options.RecordingHandler.ServeHTTP(w, r)
}

// searching runs a limited number of requests that read many objects at the same time: see Hub.search. It releases its turn
// before it writes the answer, and gives up on clients that do not read it within patience.
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
