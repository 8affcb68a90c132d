package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// errCut ends a body as a broken connection would.
var errCut = errors.New("cut by the proxy")

// editor changes a response body. It is called with each frame in turn (a line of a watch, or the whole of any other
// body), and with nil when it should act without waiting for a frame. Each body calls it from one goroutine. It returns
// the bytes to send instead of the frame. An error ends the body after these bytes: io.EOF regularly, any other like a
// broken connection.
type editor func(b *body, frame []byte) ([]byte, error)

// body is a response body, as the client of the proxy receives it.
type body struct {
	query
	// ctx ends when the client has disconnected.
	ctx    context.Context
	server io.ReadCloser
	frames chan []byte
	ended  error // why frames was closed
	done   func()
	// pace is the wait before each byte. Zero means no wait.
	pace time.Duration

	rest []byte // bytes that Read returns next
	err  error  // what Read returns after rest

	mu      sync.Mutex
	editors []editor
	last    editor // called after all others with what is sent; may be nil
	poke    chan struct{}
}

func newBody(q query, response *http.Response, editors []editor, done func(*body)) *body {
	b := &body{
		query: q, ctx: response.Request.Context(), server: response.Body,
		frames: make(chan []byte), editors: editors, poke: make(chan struct{}, 1),
	}
	b.done = sync.OnceFunc(func() { done(b) })
	go b.pump() // ends by Close
	return b
}

// pump splits the server's body into frames.
func (b *body) pump() {
	defer close(b.frames)
	if !b.isWatch() {
		whole, err := io.ReadAll(b.server)
		b.frames <- whole
		b.ended = cmpErr(err, io.EOF)
		return
	}
	lines := bufio.NewReaderSize(b.server, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			b.frames <- line
		}
		if err != nil {
			b.ended = err
			return
		}
	}
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// add appends an editor. If now is true, all editors are called without waiting for the next frame.
func (b *body) add(e editor, now bool) {
	b.mu.Lock()
	b.editors = append(b.editors, e)
	b.mu.Unlock()
	if now {
		select {
		case b.poke <- struct{}{}:
		default:
		}
	}
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		b.next()
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	if b.pace > 0 {
		if err := b.slow(); err != nil {
			return 0, err
		}
		p = p[:1]
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// slow waits before a byte. If an editor should act at once, slow calls the editors instead.
func (b *body) slow() error {
	select {
	case <-b.poke:
		_, err := b.edit(nil)
		return err
	case <-time.After(b.pace):
		return nil
	case <-b.ctx.Done():
		return errCut
	}
}

// next waits for a frame or for a call of add with now, and calls the editors.
func (b *body) next() {
	select {
	case frame, ok := <-b.frames:
		if !ok {
			b.err = b.ended
			return
		}
		b.rest, b.err = b.edit(frame)
	case <-b.poke:
		b.rest, b.err = b.edit(nil)
	case <-b.ctx.Done():
		b.err = errCut
	}
}

func (b *body) edit(frame []byte) (passed []byte, err error) {
	b.mu.Lock()
	editors := slices.Clone(b.editors)
	b.mu.Unlock()
	passed = frame
	for _, e := range editors {
		if passed, err = e(b, passed); err != nil {
			break
		}
	}
	if b.last != nil {
		b.last(b, passed)
	}
	return passed, err
}

// Close implements io.Closer. It also ends the request to the server.
func (b *body) Close() error {
	err := b.server.Close()
	for range b.frames {
	}
	b.done()
	return err
}

// sleep waits for d, and returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
