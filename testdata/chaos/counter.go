package main

import (
	"sync"
	"time"
)

// counter counts requests, to detect a client that retries without backoff.
type counter struct {
	mu    sync.Mutex
	total int
	// second is the current second as Unix time, and present has the number of its requests by path.
	second  int64
	present map[string]int
	// most is the highest number of requests for one path in one second, and what is that path.
	most int
	what string
}

func newCounter() *counter { return &counter{} }

// count counts a request. Further pages of a list and requests for other than objects count only in total.
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
