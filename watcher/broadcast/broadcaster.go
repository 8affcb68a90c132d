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
}

var _ event.Sink = (*Broadcaster)(nil)

// New returns a Broadcaster. Each Subscriber can belong to only one.
func New(subscribers ...*Subscriber) *Broadcaster { return &Broadcaster{subscribers: subscribers} }

// Remove removes a Subscriber. It delivers its buffer, and its Run returns, unless it is detached.
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
	for _, b := range f.list() {
		b.buffer.close()
	}
}
