package main

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"path"
	"sync"
	"sync/atomic"
	"time"
)

// receiver is the webhook of one dwatch, on loopback, which can misbehave. It adds accepted messages to the record of that
// dwatch before it acknowledges them.
type receiver struct {
	*listener
	server *http.Server
	take   func(run, id string, body []byte)

	leaving sync.Mutex // held by kill
	kills   atomic.Int64

	mu      sync.Mutex
	rng     *rand.Rand
	behaves manner
	hits    int // requests since behaves was set
}

// manner is how a receiver answers. It calls take to accept the message.
type manner func(w http.ResponseWriter, r *http.Request, take func())

// newReceiver starts a receiver. It calls take with the run of dwatch that sent a message, the id and the body.
func newReceiver(seed uint64, take func(run, id string, body []byte)) (*receiver, error) {
	l, err := listen()
	if err != nil {
		return nil, err
	}
	r := &receiver{listener: l, take: take, rng: rand.New(rand.NewPCG(seed, 99)), behaves: well}
	r.server = &http.Server{Handler: r, ErrorLog: log.New(io.Discard, "", 0)}
	go r.server.Serve(l) // until stop
	return r, nil
}

// url returns the URL for one run of dwatch.
func (r *receiver) url(run string) string { return "http://" + r.address + "/" + run }

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // incomplete message
	}
	r.mu.Lock()
	behaves := r.behaves
	r.hits++
	r.mu.Unlock()
	behaves(w, request, func() { r.take(path.Base(request.URL.Path), request.Header.Get("Ce-Id"), body) })
}

// become changes how it answers. It returns the number of requests since the previous change.
func (r *receiver) become(m manner) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	hits := r.hits
	r.behaves, r.hits = m, 0
	return hits
}

// one returns true with a probability of 1/n.
func (r *receiver) one(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n) == 0
}

// kill refuses and resets connections, as after a crash, and accepts connections again after a time or when ctx ends.
func (r *receiver) kill(ctx context.Context, after time.Duration) error {
	r.leaving.Lock()
	defer r.leaving.Unlock()
	r.kills.Add(1)
	r.refuse()
	r.listener.reset()
	sleep(ctx, after)
	return r.readmit(context.WithoutCancel(ctx))
}

// stop closes the server and its connections.
func (r *receiver) stop() { r.server.Close() }

// well accepts each message.
func well(w http.ResponseWriter, _ *http.Request, take func()) {
	take()
	w.WriteHeader(http.StatusNoContent)
}

// says accepts no message, and answers with a status. retryAfter is the Retry-After header, unless it is empty.
func says(status int, retryAfter string) manner {
	return func(w http.ResponseWriter, _ *http.Request, _ func()) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
	}
}

// hangs accepts no message, and does not answer until the client disconnects.
func hangs(_ http.ResponseWriter, r *http.Request, _ func()) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// slow accepts each message, and answers after 50 ms.
func slow(w http.ResponseWriter, r *http.Request, take func()) {
	take()
	sleep(r.Context(), 50*time.Millisecond)
	w.WriteHeader(http.StatusOK)
}

// silent accepts each message, and breaks the connection without an answer.
func silent(_ http.ResponseWriter, _ *http.Request, take func()) {
	take()
	panic(http.ErrAbortHandler)
}

// halfAnswer accepts each message, and breaks the connection in its answer.
func halfAnswer(w http.ResponseWriter, _ *http.Request, take func()) {
	take()
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, "half of ")
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// nowAndThen answers a quarter of the requests like m, and the others like well.
func (r *receiver) nowAndThen(m manner) manner {
	return func(w http.ResponseWriter, request *http.Request, take func()) {
		if r.one(4) {
			m(w, request, take)
			return
		}
		well(w, request, take)
	}
}
