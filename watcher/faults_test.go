package watcher

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"
)

// faults is a client's transport that injects faults.
type faults struct {
	next http.RoundTripper

	mu sync.Mutex
	// answer, if not nil, may answer a request instead of the server.
	answer func(*http.Request) *http.Response
	// requests are the queries of all requests, in order.
	requests []string
	open     map[*faultyBody]bool
	opened   int // number of watches that were answered
	// held, if not nil, delays the data of all watches until it is closed.
	held chan struct{}
	// lines is the number of lines that were read from watches.
	lines   int
	changed sync.Cond
}

func newFaults(t *testing.T, c *testenv.Cluster) (*faults, *rest.Config) {
	t.Helper()
	f := &faults{open: map[*faultyBody]bool{}}
	f.changed.L = &f.mu
	config := rest.CopyConfig(config(t, c))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		f.next = next
		return f
	})
	return f, config
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.requests = append(f.requests, r.URL.RawQuery)
	f.changed.Broadcast()
	answer := f.answer
	f.mu.Unlock()
	if answer != nil {
		if response := answer(r); response != nil {
			response.Request = r
			return response, nil
		}
	}
	response, err := f.next.RoundTrip(r)
	if err != nil || r.URL.Query().Get("watch") == "" {
		return response, err
	}
	body := &faultyBody{ReadCloser: response.Body, faults: f, closed: make(chan struct{})}
	f.mu.Lock()
	f.open[body] = true
	f.opened++
	f.changed.Broadcast()
	f.mu.Unlock()
	response.Body = body
	return response, nil
}

func (f *faults) set(answer func(*http.Request) *http.Response) {
	f.mu.Lock()
	f.answer = answer
	f.mu.Unlock()
}

// cut breaks all open watch connections.
func (f *faults) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for body := range f.open {
		body.broken = true
		body.ReadCloser.Close()
	}
}

// mute makes all open watch connections half-open: no more data arrives, not even their end.
func (f *faults) mute() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for body := range f.open {
		body.muted = true
	}
}

// hold delays the data of all watches until the returned function is called.
func (f *faults) hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := make(chan struct{})
	f.held = held
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held = nil
		close(held)
	}
}

// count returns how many requests have been sent so far.
func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// awaitRequests returns when n requests have been sent.
func (f *faults) awaitRequests(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.requests) < n {
		f.changed.Wait()
	}
}

// awaitWatches returns when n watches have been answered.
func (f *faults) awaitWatches(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.opened < n {
		f.changed.Wait()
	}
}

// awaitLines returns when n lines have been read from watches.
func (f *faults) awaitLines(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.lines < n {
		f.changed.Wait()
	}
}

type faultyBody struct {
	io.ReadCloser
	faults *faults
	broken bool
	muted  bool
	closed chan struct{}
	close  sync.Once
}

func (b *faultyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	if held := b.faults.held; held != nil {
		b.faults.mu.Unlock()
		select {
		case <-held:
		case <-b.closed:
		}
		b.faults.mu.Lock()
	}
	if b.muted {
		b.faults.mu.Unlock()
		<-b.closed
		b.faults.mu.Lock()
		return 0, io.ErrClosedPipe
	}
	b.faults.lines += bytes.Count(p[:n], []byte("\n"))
	b.faults.changed.Broadcast()
	if err != nil && b.broken {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *faultyBody) Close() error {
	b.faults.mu.Lock()
	delete(b.faults.open, b)
	b.faults.mu.Unlock()
	b.close.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}

// respond returns a response that the API server would not give on demand.
func respond(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(bytes.NewBufferString(body)),
	}
}

const expired = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}`

const notFound = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`
