package codec_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// tape is a transport that sends each request to the server only once. Later identical requests get
// the recorded response, byte for byte.
type tape struct {
	next http.RoundTripper
	// edit, if not nil, changes each request before it is sent.
	edit func(*http.Request)
	// dub, if not nil, changes a recording before it is played.
	dub func([]byte) []byte

	mu       sync.Mutex
	recorded map[string]*recording
}

type recording struct {
	response http.Response
	body     bytes.Buffer
	// cut is true if the recording was taken from the tape and must not grow. A watch that was
	// stopped may still read.
	cut bool
}

func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.edit != nil {
		r = r.Clone(r.Context())
		t.edit(r)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.recorded[r.URL.String()]; ok {
		return known.play(r, t.dub), nil
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	recorded := &recording{response: *response}
	t.recorded[r.URL.String()] = recorded
	response.Body = &recorder{response.Body, recorded, t}
	return response, nil
}

// play responds with a recording. If a recording ends within an event, play ends before that event.
func (r *recording) play(request *http.Request, dub func([]byte) []byte) *http.Response {
	body := r.body.Bytes()
	if end := bytes.LastIndexByte(body, '\n'); request.URL.Query().Get("watch") != "" {
		body = body[:end+1]
	}
	if dub != nil {
		body = dub(body)
	}
	response := r.response
	response.Request = request
	response.Body = io.NopCloser(bytes.NewReader(body))
	return &response
}

type recorder struct {
	io.ReadCloser
	recording *recording
	tape      *tape
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	if !r.recording.cut {
		r.recording.body.Write(p[:n])
	}
	return n, err
}

// only returns the only recording and erases the tape.
func (t *tape) only(tb testing.TB) *recording {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.recorded) != 1 {
		tb.Fatalf("%d recordings, want 1", len(t.recorded))
	}
	for url, recorded := range t.recorded {
		delete(t.recorded, url)
		recorded.cut = true
		return recorded
	}
	return nil
}

func (t *tape) erase() {
	t.mu.Lock()
	clear(t.recorded)
	t.mu.Unlock()
}

// canned is a server with one response.
type canned struct {
	code int
	body string
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.code,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(c.body)),
		Request:    r,
	}, nil
}
