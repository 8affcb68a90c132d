package report

import (
	"context"
	"sync"
)

// queue does one thing after the other beside the events. The zero value is ready.
type queue struct {
	mu      sync.Mutex
	waiting []func()
	busy    bool
	working sync.WaitGroup
}

// add does not wait. All that is added is done, also after the end of ctx, which
// is there to be quick then.
func (q *queue) add(ctx context.Context, do func(context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, func() { do(ctx) })
	if !q.busy {
		q.busy = true
		q.working.Go(q.work)
	}
}

func (q *queue) work() {
	for do := q.next(); do != nil; do = q.next() {
		do()
	}
}

// next is nil when there is nothing left to do.
func (q *queue) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy = false
		return nil
	}
	do := q.waiting[0]
	q.waiting = q.waiting[1:]
	return do
}

// wait returns when all is done. Nothing may be added any more.
func (q *queue) wait() { q.working.Wait() }
