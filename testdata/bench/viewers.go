package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"dwatch/testdata/stderrlog"
)

// pageViewers is the number of viewers of a contender's page.
const pageViewers = 10

var pageAddress = regexp.MustCompile(`(?m)^page: (http\S+)\n`)

// pageTap is a writer that finds the address of the page in dwatch's stderr.
type pageTap struct {
	mu    sync.Mutex
	text  bytes.Buffer
	found chan *url.URL // receives the address
	done  bool
}

func newPageTap() *pageTap { return &pageTap{found: make(chan *url.URL, 1)} }

// Write implements io.Writer.
func (p *pageTap) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return len(text), nil
	}
	p.text.Write(text)
	if found := pageAddress.FindStringSubmatch(stderrlog.StripTimes(p.text.String())); found != nil {
		address, err := url.Parse(found[1])
		if err != nil {
			return 0, err
		}
		p.found <- address
		p.done = true
	}
	return len(text), nil
}

// pageTimeout is how long the address of a page may take to appear.
const pageTimeout = 20 * time.Second

// address waits for the address of the page.
func (p *process) address(ctx context.Context) (*url.URL, error) {
	select {
	case address := <-p.page.found:
		p.page.found <- address // for later calls
		return address, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(pageTimeout):
		return nil, errors.New("timeout: dwatch did not print the address of its page")
	}
}

// dial connects a viewer to the page.
func (p *process) dial(ctx context.Context) (*websocket.Conn, error) {
	address, err := p.address(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Authorization": {"Bearer " + address.Query().Get("token")}}
	conn, _, err := websocket.Dial(ctx, "ws://"+address.Host+"/ws", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return nil, fmt.Errorf("connect to the page: %w", err)
	}
	conn.SetReadLimit(-1)
	return conn, nil
}

// view connects viewers to the contender's page, if it has one, and discards their messages. The viewers disconnect
// when ctx ends or the page closes the connection.
func (p *process) view(ctx context.Context) error {
	if p.page == nil {
		return nil
	}
	for range pageViewers - 1 { // readPage is the other viewer
		conn, err := p.dial(ctx)
		if err != nil {
			return err
		}
		p.viewers.Go(func() {
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

// readPage writes the messages to a viewer as lines in the format pageLines: one line for each object when it first
// appears, and one for each later change.
func (p *process) readPage(ctx context.Context, to io.WriteCloser) {
	defer to.Close()
	conn, err := p.dial(ctx)
	if err != nil {
		return // the reader sees the end of the output, and stderr contains the reason
	}
	defer conn.CloseNow()
	known := map[string]bool{}
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if _, err := to.Write(pageMessage(message, known)); err != nil {
			return
		}
	}
}

// pageMessage converts a message of the page to lines. known contains the keys of the objects that have appeared so far.
func pageMessage(message []byte, known map[string]bool) (lines []byte) {
	see := func(key string) {
		if !known[key] {
			known[key] = true
			lines = append(lines, "row "+key+"\n"...)
		}
	}
	switch m := gjson.ParseBytes(message); m.Get("type").Str {
	case "snapshot":
		m.Get("rows.#.key").ForEach(func(_, key gjson.Result) bool {
			see(key.Str)
			return true
		})
	case "change":
		if m.Get("event").Str == "MODIFIED" {
			lines = append(bytes.ReplaceAll(message, []byte("\n"), nil), '\n')
		} else {
			see(m.Get("key").Str)
		}
	}
	return lines
}
