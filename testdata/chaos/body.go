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

// editor changes a body on its way. It is called with each frame in turn (a line
// of a watch, all of any other body), or with nil when it is to act at once,
// from one goroutine a body. It returns what goes on instead; an error ends the
// body after that: io.EOF in good order, any other like a broken connection.
type editor func(b *body, frame []byte) ([]byte, error)

// body is the body of an answer, as the client of the proxy gets it.
type body struct {
	query
	// ctx ends when the client has gone.
	ctx    context.Context
	server io.ReadCloser
	frames chan []byte
	ended  error // of frames, once it is closed
	done   func()
	// pace, if not 0, is the wait before each byte.
	pace time.Duration

	rest []byte // to be read
	err  error  // after the rest

	mu      sync.Mutex
	editors []editor
	last    editor // behind all others; nil: none
	poke    chan struct{}
}

func newBody(q query, response *http.Response, editors []editor, done func(*body)) *body {
	b := &body{
		query: q, ctx: response.Request.Context(), server: response.Body,
		frames: make(chan []byte), editors: editors, poke: make(chan struct{}, 1),
	}
	b.done = sync.OnceFunc(func() { done(b) })
	go b.pump() // Close waits for it
	return b
}

// pump cuts what the server sends into frames.
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

// add lets one more editor see what comes; now asks it to act at once.
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

// slow waits before a byte, unless it is to act at once.
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

// next waits for a frame, or for the order to act without one.
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

// Close implements io.Closer. It ends the request to the server, too.
func (b *body) Close() error {
	err := b.server.Close()
	for range b.frames {
	}
	b.done()
	return err
}

// sleep reports false if ctx ended first.
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
