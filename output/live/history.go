package live

import (
	"time"

	"dwatch/watcher/event"
)

const (
	// maxStates is how many states of one object are kept, the present one among them.
	maxStates = 100
	// maxHistory is how many bytes the states before the present ones may take, of all
	// objects together.
	maxHistory = 64 << 20
)

// state is an object as an event showed it.
type state struct {
	kind    event.Type
	at      time.Time
	object  event.Object // packed
	target  event.Target
	initial bool
	listed  bool
	unknown bool // FinalStateUnknown
	size    int
}

// history has the states of an object since the start, the oldest first.
type history struct {
	states []state
	// missing is how many states between the first and the second are not kept.
	missing int
	// unqueued is how many of the archive's entries for it are void.
	unqueued int
	archive  *archive
}

// archive bounds what all histories take together.
type archive struct {
	bytes int
	limit int
	// queue has a history for each state behind its first, in the order in which they
	// came.
	queue []*history
	live  int // entries that are not void
}

// add appends a state.
func (h *history) add(a *archive, s state) {
	h.archive = a
	h.states = append(h.states, s)
	if len(h.states) == 1 {
		return
	}
	a.bytes += s.size
	a.queue = append(a.queue, h)
	a.live++
	if len(h.states) > maxStates {
		h.forget()
		h.unqueued++
	}
	for a.bytes > a.limit && len(a.queue) > 0 {
		a.pop()
	}
	if len(a.queue) > 2*a.live+1024 {
		a.sweep()
	}
}

// forget drops the oldest state but the first, with which the changes begin.
func (h *history) forget() {
	if len(h.states) < 3 { // the present one is kept in any case
		return
	}
	h.archive.bytes -= h.states[1].size
	h.archive.live--
	h.states = append(h.states[:1], h.states[2:]...)
	h.missing++
}

// drop forgets all.
func (h *history) drop() {
	if h.archive == nil || len(h.states) == 0 {
		return
	}
	for _, s := range h.states[1:] {
		h.archive.bytes -= s.size
	}
	h.archive.live -= len(h.states) - 1
	h.states = nil
}

// pop drops the oldest state of all.
func (a *archive) pop() {
	h := a.queue[0]
	a.queue = a.queue[1:]
	switch {
	case h.states == nil:
	case h.unqueued > 0:
		h.unqueued--
	default:
		h.forget()
	}
}

// sweep takes out of the queue what is void.
func (a *archive) sweep() {
	kept := make([]*history, 0, a.live)
	for _, h := range a.queue {
		switch {
		case h.states == nil:
		case h.unqueued > 0:
			h.unqueued--
		default:
			kept = append(kept, h)
		}
	}
	a.queue = kept
}
