package watcher

import (
	"sync"

	"dwatch/watcher/source"
)

// note is what the loop gets to know of one target: what its source has observed, or
// what has become of it.
type note struct {
	of   *target
	what subject
	source.Observation
	// narrower are those whose place the target takes, of joined.
	narrower []*target
}

// subject says what a note is about.
type subject uint8

const (
	observed subject = iota // by the source
	refused                 // the server's first answer is no, as Err says
	switched                // to another version of the resource, or another scope, as Target says
	joined                  // after the start
	left                    // it is watched no more, of one that was there at the start
	gone                    // the server no longer has the resource
)

// queue is what waits for the loop. put never blocks: what comes with an object has
// passed the gate, and the rest is little.
type queue struct {
	// ready holds one when there is something to take.
	ready chan struct{}

	mu      sync.Mutex
	waiting []note
	closed  bool
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(n note) {
	q.mu.Lock()
	q.waiting = append(q.waiting, n)
	q.mu.Unlock()
	source.Signal(q.ready)
}

// close ends the queue: nothing is put into it any more.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	source.Signal(q.ready)
}

// take returns all that waits, and whether anything may come after it. The memory
// of spare is used again.
func (q *queue) take(spare []note) (waiting []note, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, q.waiting = q.waiting, spare
	return waiting, !q.closed
}

// maxSpare is how many items' memory, or up to twice that, is used again.
const maxSpare = 4 << 10

// emptied returns items without what they hold, to be used again; nil if they are
// too many to be kept while nothing comes.
func emptied[T any](items []T) []T {
	if cap(items) > 2*maxSpare {
		return nil
	}
	clear(items)
	return items[:0]
}
