package broadcast

import (
	"context"
	"slices"
	"sync"

	"dwatch/watcher/event"
)

// Fan is a Sink that gives each batch to Branches, which come and go. Its methods may be called from any goroutine.
type Broadcaster struct {
	mu       sync.Mutex
	branches []*Subscriber // never changed in place
	closed   bool
}

var _ event.Sink = (*Broadcaster)(nil)

// New returns a Fan for branches, of which each belongs to one Fan.
func New(branches ...*Subscriber) *Broadcaster { return &Broadcaster{branches: branches} }

// Add has a Branch, which does not Run yet, get what comes from now on. What was before is told by first, which watches
// for it alone, from a time after this call on, and ends when all that exists has been reported. Meanwhile
// what comes waits; when that is too much, the Branch is dropped, and goes on alone. So it does if first ends without an error and has
// not reported all.
func (f *Broadcaster) Add(b *Subscriber, first WatchFunc) {
	b.first, b.begins, b.reached = first, true, reached{}
	f.mu.Lock()
	closed, others := f.closed, f.branches
	f.branches = append(slices.Clone(others), b)
	f.mu.Unlock()
	if closed {
		b.close()
	}
	for _, o := range others { // who had nobody to hold up now has
		signal(o.freed)
	}
}

// Remove has a Branch get nothing more: it delivers what waits, unless it has not been told what was before, and returns.
func (f *Broadcaster) Remove(b *Subscriber) {
	f.mu.Lock()
	f.branches = slices.DeleteFunc(slices.Clone(f.branches), func(o *Subscriber) bool { return o == b })
	f.mu.Unlock()
	b.close()
}

func (f *Broadcaster) all() []*Subscriber {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.branches
}

// Deliver implements event.Sink. It never fails: what a Branch ends with is returned by its Run.
func (f *Broadcaster) Deliver(ctx context.Context, batch []event.Event) error {
	batch = slices.Clone(batch) // one for all
	for _, b := range f.all() {
		b.take(ctx, batch, f.isShared)
	}
	return nil
}

// isShared reports whether more than one gets the batches.
func (f *Broadcaster) isShared() bool {
	n := 0
	for _, b := range f.all() {
		if b.IsAttached() {
			n++
		}
	}
	return n > 1
}

// Close says that Deliver is not called any more.
func (f *Broadcaster) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	for _, b := range f.all() {
		b.close()
	}
}
