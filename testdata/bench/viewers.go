package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// pageViewers is how many viewers look at the page of a contender that has one.
const pageViewers = 10

var pageAddress = regexp.MustCompile(`(?m)^page: (http\S+)\n`)

// pageTap waits for the address of a page in what goes through it.
type pageTap struct {
	mu    sync.Mutex
	text  bytes.Buffer
	found chan *url.URL // gets it, once
}

func newPageTap() *pageTap { return &pageTap{found: make(chan *url.URL, 1)} }

// Write implements io.Writer.
func (p *pageTap) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		return len(text), nil
	}
	p.text.Write(text)
	if found := pageAddress.FindSubmatch(p.text.Bytes()); found != nil {
		address, err := url.Parse(string(found[1]))
		if err != nil {
			return 0, err
		}
		p.found <- address
		p.found = nil
	}
	return len(text), nil
}

// pagePatience is how long the address of a page may be in coming.
const pagePatience = 20 * time.Second

// view makes viewers look at the page that a contender serves, if it has one.
func (p *process) view(ctx context.Context, found <-chan *url.URL) error {
	if found == nil {
		return nil
	}
	select {
	case address := <-found:
		return p.look(ctx, address)
	case <-time.After(pagePatience):
		return errors.New("there is no address of a page")
	}
}

// look makes viewers look at the page from now on; what they get is thrown away. They
// leave when ctx ends, or the page does.
func (p *process) look(ctx context.Context, address *url.URL) error {
	for range pageViewers {
		header := http.Header{"Authorization": {"Bearer " + address.Query().Get("token")}}
		conn, _, err := websocket.Dial(ctx, "ws://"+address.Host+"/ws", &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			return fmt.Errorf("look at the page: %w", err)
		}
		conn.SetReadLimit(-1)
		p.left.Go(func() {
			defer conn.CloseNow()
			for {
				if _, _, err := conn.Read(ctx); err != nil {
					return
				}
			}
		})
	}
	return nil
}
