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

// receiver is where one dwatch delivers to, on loopback, and misbehaves when it is told
// to. What it takes goes into the record of that dwatch, before it is acknowledged.
type receiver struct {
	*listener
	server *http.Server
	take   func(run, id string, body []byte)

	leaving sync.Mutex // held while it is away
	kills   atomic.Int64

	mu      sync.Mutex
	rng     *rand.Rand
	behaves manner
	hits    int // requests since it behaves like that
}

// manner is how a receiver answers. It takes the message by calling take, if at all.
type manner func(w http.ResponseWriter, r *http.Request, take func())

// newReceiver starts a receiver. take is called with the run of dwatch that has sent a
// message, its id and its body.
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

// url is where one run of dwatch sends to.
func (r *receiver) url(run string) string { return "http://" + r.address + "/" + run }

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // half a message
	}
	r.mu.Lock()
	behaves := r.behaves
	r.hits++
	r.mu.Unlock()
	behaves(w, request, func() { r.take(path.Base(request.URL.Path), request.Header.Get("Ce-Id"), body) })
}

// become changes how it answers, and returns how many requests there were before.
func (r *receiver) become(m manner) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	hits := r.hits
	r.behaves, r.hits = m, 0
	return hits
}

// one reports true once in n times, by chance.
func (r *receiver) one(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n) == 0
}

// kill ends it as a crash would, and starts it again after a while, or when ctx ends.
func (r *receiver) kill(ctx context.Context, after time.Duration) error {
	r.leaving.Lock()
	defer r.leaving.Unlock()
	r.kills.Add(1)
	r.refuse()
	r.listener.reset()
	sleep(ctx, after)
	return r.readmit(context.WithoutCancel(ctx))
}

// stop ends all connections.
func (r *receiver) stop() { r.server.Close() }

// well takes each message.
func well(w http.ResponseWriter, _ *http.Request, take func()) {
	take()
	w.WriteHeader(http.StatusNoContent)
}

// says takes nothing, and answers with a status.
func says(status int, retryAfter string) manner {
	return func(w http.ResponseWriter, _ *http.Request, _ func()) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
	}
}

// hangs neither takes anything nor answers, until whoever asks has gone.
func hangs(_ http.ResponseWriter, r *http.Request, _ func()) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// slow takes its time to answer.
func slow(w http.ResponseWriter, r *http.Request, take func()) {
	take()
	sleep(r.Context(), 50*time.Millisecond)
	w.WriteHeader(http.StatusOK)
}

// silent takes each message, and breaks the connection without an answer.
func silent(_ http.ResponseWriter, _ *http.Request, take func()) {
	take()
	panic(http.ErrAbortHandler)
}

// halfAnswer takes each message, and breaks the connection in its answer.
func halfAnswer(w http.ResponseWriter, _ *http.Request, take func()) {
	take()
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, "half of ")
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// now and then misbehaves like that, and else well.
func (r *receiver) nowAndThen(m manner) manner {
	return func(w http.ResponseWriter, request *http.Request, take func()) {
		if r.one(4) {
			m(w, request, take)
			return
		}
		well(w, request, take)
	}
}
