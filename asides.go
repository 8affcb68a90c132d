package main

import (
	"context"
	"sync"
)

// asides does one thing after the other beside the events: what has to ask the
// server before it can say something. The zero value is ready.
type asides struct {
	mu      sync.Mutex
	queue   []func()
	busy    bool
	working sync.WaitGroup
}

// add does not wait. All that is added is done, also after the end of ctx, which
// is there to be quick then.
func (a *asides) add(ctx context.Context, do func(context.Context)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, func() { do(ctx) })
	if !a.busy {
		a.busy = true
		a.working.Go(a.work)
	}
}

func (a *asides) work() {
	for do := a.next(); do != nil; do = a.next() {
		do()
	}
}

// next is nil when there is nothing left to do.
func (a *asides) next() func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		a.busy = false
		return nil
	}
	do := a.queue[0]
	a.queue = a.queue[1:]
	return do
}

// wait returns when all is done. Nothing may be added any more.
func (a *asides) wait() { a.working.Wait() }
