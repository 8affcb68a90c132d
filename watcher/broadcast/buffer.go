package broadcast

import (
	"sync"

	"dwatch/watcher/event"
)

// buffer contains the batches that a Subscriber has not delivered yet. Once it is detached or closed,
// it accepts no more batches. Its methods lock it.
type buffer struct {
	ready    chan struct{} // has a signal if there are batches, or the buffer was detached or closed
	freed    chan struct{} // has a signal if there may be space, or the Subscriber may be detached now
	maxBytes int64

	mu       sync.Mutex
	batches  [][]event.Event // subscribers may share them
	bytes    int64
	blocked  bool // the Subscriber's Sink waits for another process
	detached bool
	closed   bool
}

func newBuffer(maxBytes int64) *buffer {
	return &buffer{ready: make(chan struct{}, 1), freed: make(chan struct{}, 1), maxBytes: maxBytes}
}

func (b *buffer) setBlocked(blocked bool) {
	b.mu.Lock()
	b.blocked = blocked
	b.mu.Unlock()
	signal(b.freed)
}

func (b *buffer) isAttached() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.detached
}

func (b *buffer) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	signal(b.ready)
	signal(b.freed)
}

// put adds a batch. It returns false if the batch is empty or the buffer accepts no more.
func (b *buffer) put(batch []event.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.detached || b.closed || len(batch) == 0 {
		return false
	}
	b.batches = append(b.batches, batch)
	for i := range batch {
		b.bytes += sizeOf(&batch[i])
	}
	signal(b.ready)
	return true
}

// hasRoom reports whether there is space for another batch, or none is needed because the buffer is
// closed or detached.
func (b *buffer) hasRoom() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes < b.maxBytes || b.closed
}

// detachIfBlocked detaches the Subscriber and discards the batches if it is blocked. It returns whether it did.
func (b *buffer) detachIfBlocked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.blocked {
		return false
	}
	b.detached, b.batches, b.bytes = true, nil, 0
	signal(b.ready)
	return true
}

// takeAll removes and returns the batches, and whether the Subscriber was detached or closed.
func (b *buffer) takeAll() (waiting [][]event.Event, detached, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting = b.batches
	b.batches, b.bytes = nil, 0
	signal(b.freed)
	return waiting, b.detached, b.closed
}

// signal adds a signal to c, which has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // the channel already has a signal
	}
}
