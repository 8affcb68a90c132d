package metrics

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server serves /metrics, /healthz and /readyz.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// Listen serves m on an address, HOST:PORT, until Close.
func Listen(address string, m *Metrics) (*Server, error) { return listen(address, handler(m)) }

func listen(address string, h http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		if cause, ok := errors.AsType[*net.OpError](err); ok {
			err = cause.Err // callers add the address as the user typed it
		}
		return nil, err
	}
	s := &Server{listener: listener, server: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute, // longer than most scrape intervals
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}}
	go s.server.Serve(listener) // until Close
	return s, nil
}

func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/metrics" }

// Close stops the server and closes all connections at once. It does nothing if s is nil.
func (s *Server) Close() {
	if s != nil {
		s.server.Close()
	}
}

func handler(m *Metrics) http.Handler { return answers(registry(m), m.CheckHealthy, m.CheckReady) }

func answers(r prometheus.Gatherer, healthy, ready func() error) http.Handler {
	mux := http.NewServeMux() // a pattern with GET takes HEAD, too, and answers 405 to others
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, healthy()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, ready()) })
	return mux
}

func answer(w http.ResponseWriter, wrong error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if wrong != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, wrong)
		return
	}
	fmt.Fprintln(w, "ok")
}
