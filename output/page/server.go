package page

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxViewers is how many viewers are served at the same time.
	maxViewers = 250
	// maxSearches is how many requests look at all objects at the same time.
	maxSearches = 2
	// goodbye is how long viewers have at the end to take what they are sent.
	goodbye = 2 * time.Second
)

// ServerOptions say how a page is served.
type ServerOptions struct {
	// Listener is where. It is closed in the end.
	Listener net.Listener
	// Certificate makes it TLS; nil: plain.
	Certificate *tls.Certificate
	// Proxied: what stands before it sends the Host that it was asked for.
	Proxied bool
}

// Server serves what a Hub has.
type Server struct {
	hub      *Hub
	options  ServerOptions
	token    string
	http     *http.Server
	viewers  chan struct{} // has one for each
	searches chan struct{} // has one for each
	patience time.Duration
	// ctx is of all requests; cancel ends them.
	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup // requests
}

// NewServer returns a Server that does not serve yet.
func NewServer(hub *Hub, o ServerOptions) *Server {
	s := &Server{
		hub: hub, options: o, token: random(),
		viewers: make(chan struct{}, maxViewers), searches: make(chan struct{}, maxSearches),
		patience: patience,
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
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
func (s *Server) URL() string {
	scheme := "http"
	if s.options.Certificate != nil {
		scheme = "https"
	}
	return scheme + "://" + s.options.Listener.Addr().String() + "/?token=" + s.token
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
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close says goodbye to the viewers, for this reason, and returns when the last request
// has ended. Those who do not take it are left behind after a moment.
func (s *Server) Close(reason string) {
	s.hub.Close(reason)
	late := time.AfterFunc(goodbye, s.cancel)
	defer late.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	s.http.Shutdown(ctx)
	s.http.Close()
	s.active.Wait() // of WebSockets, which the other knows nothing of
	s.cancel()
}

// handler leads each request where it belongs, if it may go there.
func (s *Server) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", s.index)
	m.HandleFunc("GET /assets/{name...}", s.asset)
	m.HandleFunc("GET /ws", s.viewing(s.socket))
	m.HandleFunc("GET /api/events", s.viewing(s.events))
	m.HandleFunc("GET /api/objects", s.searching(s.objects))
	m.HandleFunc("GET /api/object", s.searching(s.object))
	m.HandleFunc("GET /api/feed", s.searching(s.feed))
	m.HandleFunc("GET /api/where", s.searching(s.where))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.active.Add(1)
		defer s.active.Done()
		setHeaders(w.Header())
		if s.guard(w, r) {
			m.ServeHTTP(w, r)
		}
	})
}

// setHeaders sets what is said with every answer.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// index serves the page.
func (s *Server) index(w http.ResponseWriter, r *http.Request) { serveFile(w, r, "index.html") }

// asset serves a file of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) { serveFile(w, r, r.PathValue("name")) }

func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	text, err := fs.ReadFile(assets(), name)
	if err != nil {
		fail(w, http.StatusNotFound, "the page has no such file")
		return
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}

// viewing lets as many viewers in as there is room for.
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

// searching makes requests that look at many objects wait for each other, and gives up
// those who do not take the answer.
func (s *Server) searching(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.searches <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		release := sync.OnceFunc(func() { <-s.searches })
		defer release()
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience))
		serve(&searched{w, release}, r)
	}
}

// searched is an answer whose search has ended when it is written.
type searched struct {
	http.ResponseWriter
	release func()
}

func (s *searched) Write(text []byte) (int, error) {
	s.release()
	return s.ResponseWriter.Write(text)
}
