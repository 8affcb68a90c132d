package main

import (
	"sync"
	"time"
)

// counter counts requests, to find a client that asks without rest.
type counter struct {
	mu    sync.Mutex
	total int
	// second is the present one; in it, requests by what they ask for.
	second  int64
	present map[string]int
	// most is the highest number of requests for the same in one second.
	most int
	what string
}

func newCounter() *counter { return &counter{} }

// count notes a request. The pages of a list, which follow each other as fast as
// they can, count as one request.
func (c *counter) count(q query) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total++
	if q.kind == page || q.kind == other {
		return
	}
	if now := time.Now().Unix(); now != c.second {
		c.second, c.present = now, map[string]int{}
	}
	c.present[q.path]++
	if c.present[q.path] > c.most {
		c.most, c.what = c.present[q.path], q.path
	}
}

func (c *counter) peak() (most int, what string, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most, c.what, c.total
}
