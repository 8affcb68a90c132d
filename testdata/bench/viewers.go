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

// pageViewers is how many viewers look at the page of a contender that has one.
const pageViewers = 10

var pageAddress = regexp.MustCompile(`(?m)^page: (http\S+)\n`)

// pageTap waits for the address of a page in what goes through it.
type pageTap struct {
	mu    sync.Mutex
	text  bytes.Buffer
	found chan *url.URL // gets it
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

// pagePatience is how long the address of a page may be in coming.
const pagePatience = 20 * time.Second

// address is that of the page, as soon as it is known.
func (p *process) address(ctx context.Context) (*url.URL, error) {
	select {
	case address := <-p.page.found:
		p.page.found <- address // for the next who asks
		return address, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(pagePatience):
		return nil, errors.New("there is no address of a page")
	}
}

// dial makes a viewer.
func (p *process) dial(ctx context.Context) (*websocket.Conn, error) {
	address, err := p.address(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Authorization": {"Bearer " + address.Query().Get("token")}}
	conn, _, err := websocket.Dial(ctx, "ws://"+address.Host+"/ws", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return nil, fmt.Errorf("look at the page: %w", err)
	}
	conn.SetReadLimit(-1)
	return conn, nil
}

// view makes viewers look at the page that a contender serves, if it has one; what they
// get is thrown away. They leave when ctx ends, or the page does.
func (p *process) view(ctx context.Context) error {
	if p.page == nil {
		return nil
	}
	for range pageViewers - 1 { // and the one who measures
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

// readPage writes what a viewer gets to know as lines, which pageLines understands: one for
// each object when it is first seen, and each change after that.
func (p *process) readPage(ctx context.Context, to io.WriteCloser) {
	defer to.Close()
	conn, err := p.dial(ctx)
	if err != nil {
		return // the reader finds the end, and stderr says why
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

// pageMessage is what is new in a message of the page, in lines. known are the keys of the
// objects that were seen.
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
