package deliver

import "context"

// awaitRoom waits until size more may wait, or nothing does, or for the end of ctx. Room
// is bounded at the end of a run by what the watcher still has.
func (q *Queue) awaitRoom(ctx context.Context, size int64) {
	for !q.hasRoom(size) {
		select {
		case <-q.freed:
		case <-ctx.Done():
			return
		}
	}
}

func (q *Queue) hasRoom(size int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used+size <= q.Room || q.used == 0 {
		return true
	}
	if !q.full {
		q.full = true
		q.noteChange()
	}
	return false
}

// leave makes room again. That there was none is over when half of it is free.
func (q *Queue) leave(it item) {
	q.used -= it.size
	if q.full && q.used <= q.Room/2 {
		q.full = false
		q.noteChange()
	}
	select {
	case q.freed <- struct{}{}:
	default: // it is known already
	}
}
