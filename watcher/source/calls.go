package source

import "sync"

// calls are what a session waits for at its end. client-go's reflector leaves a
// list that is on its way alone when it is stopped, so a call may begin or be
// busy at any time.
type calls struct {
	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup
}

// begin notes a call, which has to end. It reports false when it comes too late.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.busy.Add(1)
	}
	return !c.closed
}

func (c *calls) end() { c.busy.Done() }

// close waits for the calls that have begun. None begins after it.
func (c *calls) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.busy.Wait()
}
