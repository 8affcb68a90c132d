package broadcast

import (
	"context"
	"slices"
	"sync"

	"dwatch/watcher/event"
)

// Broadcaster is a Sink that passes each batch to its subscribers. It is safe for concurrent use.
type Broadcaster struct {
	mu          sync.Mutex
	subscribers []*Subscriber // replaced, never changed in place
	closed      bool
}

var _ event.Sink = (*Broadcaster)(nil)

// New returns a Broadcaster. Each Subscriber can belong to only one.
func New(subscribers ...*Subscriber) *Broadcaster { return &Broadcaster{subscribers: subscribers} }

// Add adds a Subscriber whose Run has not been called. It receives all later batches. first watches
// for it alone, from a time after this call on, and ends when all existing objects have been
// reported. Until then, batches are buffered. If the buffer becomes full, or first ends without an
// error before all objects have been reported, the Subscriber is detached and uses its
// FallbackWatch. An error of first is returned by Run.
func (f *Broadcaster) Add(b *Subscriber, first WatchFunc) {
	b.first, b.reached = first, reached{}
	b.buffer.startJoining()
	f.mu.Lock()
	closed, others := f.closed, f.subscribers
	f.subscribers = append(slices.Clone(others), b)
	f.mu.Unlock()
	if closed {
		b.buffer.close()
	}
	for _, o := range others { // a single blocked subscriber may be detached now
		signal(o.buffer.freed)
	}
}

// Remove removes a Subscriber. It delivers its buffer, unless its first watch is incomplete, and its
// Run returns, unless it is detached.
func (f *Broadcaster) Remove(b *Subscriber) {
	f.mu.Lock()
	f.subscribers = slices.DeleteFunc(slices.Clone(f.subscribers), func(o *Subscriber) bool { return o == b })
	f.mu.Unlock()
	b.buffer.close()
}

func (f *Broadcaster) list() []*Subscriber {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.subscribers
}

// Deliver implements event.Sink. It returns no error: the Run of a Subscriber returns its errors.
func (f *Broadcaster) Deliver(ctx context.Context, batch []event.Event) error {
	batch = slices.Clone(batch) // one copy for all
	for _, b := range f.list() {
		b.enqueue(ctx, batch, f.isShared)
	}
	return nil
}

// isShared reports whether more than one subscriber is attached.
func (f *Broadcaster) isShared() bool {
	n := 0
	for _, b := range f.list() {
		if b.IsAttached() {
			n++
		}
	}
	return n > 1
}

// Close makes all subscribers end after they have delivered their buffers, like Remove. Deliver must
// not be called any more.
func (f *Broadcaster) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	for _, b := range f.list() {
		b.buffer.close()
	}
}
