package deliver

import (
	"context"
	"sync"
)

// room is how much may wait. What waits takes of it.
type room struct {
	limit      int64
	noteChange func()
	freed      chan struct{} // has one if there may be room again

	mu   sync.Mutex
	used int64
	full bool // there was none left, and there still is little
}

// await waits until there is some room, or for the end of ctx. What comes after that is
// bounded at the end of a run by what the watcher still has.
func (r *room) await(ctx context.Context) {
	for !r.isLeft() {
		select {
		case <-r.freed:
		case <-ctx.Done():
			return
		}
	}
}

func (r *room) isLeft() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used < r.limit {
		return true
	}
	if !r.full {
		r.full = true
		r.noteChange()
	}
	return false
}

func (r *room) take(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used += size
}

// leave makes room again. That there was none is over when half of it is free.
func (r *room) leave(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= size
	if r.full && r.used <= r.limit/2 {
		r.full = false
		r.noteChange()
	}
	select {
	case r.freed <- struct{}{}:
	default: // it is known already
	}
}

// state returns how much of it is taken, and whether it is full.
func (r *room) state() (used int64, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used, r.full
}
