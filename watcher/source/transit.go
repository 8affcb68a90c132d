package source

import (
	"context"
	"sync"
)

// transit counts the live events that the informer was given and that its handler
// has not been given yet. The zero value is ready.
type transit struct {
	mu    sync.Mutex
	count int
	// empty is closed when count comes to 0; nil if nobody waits for that.
	empty chan struct{}
}

func (t *transit) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
}

func (t *transit) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count--; t.count == 0 && t.empty != nil {
		close(t.empty)
		t.empty = nil
	}
}

// wait returns when nothing is on its way, or ctx ends.
func (t *transit) wait(ctx context.Context) {
	t.mu.Lock()
	if t.count == 0 {
		t.mu.Unlock()
		return
	}
	if t.empty == nil {
		t.empty = make(chan struct{})
	}
	empty := t.empty
	t.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
