package report

import (
	"context"
	"sync"
)

// queue does one thing after the other beside the events. The zero value is ready.
type queue struct {
	mu      sync.Mutex
	last    <-chan struct{} // closed when what was added last is done
	working sync.WaitGroup
}

// add does not wait. All that is added is done, also after the end of ctx, which
// is there to be quick then.
func (q *queue) add(ctx context.Context, do func(context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, done := q.last, make(chan struct{})
	q.last = done
	q.working.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		do(ctx)
	})
}

// wait returns when all is done. Nothing may be added any more.
func (q *queue) wait() { q.working.Wait() }
