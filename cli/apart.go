package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"dwatch/watcher/event"
)

const (
	apartBytes     = 16 << 20        // may wait for a reader while conditions are evaluated
	apartBatch     = 1 << 10         // of these a batch takes, besides its objects
	readerPatience = 2 * time.Second // with a reader who reads nothing once the run is to end
)

// apart is a Sink that has stdout written by a goroutine of its own: so a condition is evaluated,
// and ends the run, also while nobody reads. When too much waits, Deliver blocks.
type apart struct {
	next event.Sink
	room *semaphore.Weighted
	jobs chan func() error
	// waits ends when nothing more is written: nobody reads, or it failed.
	waits     context.Context
	stop      context.CancelCauseFunc
	failed    context.CancelCauseFunc // ends the run
	written   *atomic.Int64           // of stdout
	unwritten atomic.Int64            // events
	done      chan struct{}           // closed when all is written
}

var errNobodyReads = errors.New("nobody reads stdout")

// newApart returns an apart before next, which is to write to stdout and count there what is
// written. It has to be finished.
func newApart(ctx context.Context, next event.Sink, written *atomic.Int64, failed context.CancelCauseFunc) *apart {
	a := &apart{next: next, room: semaphore.NewWeighted(apartBytes), jobs: make(chan func() error, 2*apartBytes/apartBatch), failed: failed, written: written, done: make(chan struct{})}
	a.waits, a.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	go a.write()
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errTimeout) {
			a.giveUp() // Deliver may wait for room
		}
	})
	return a
}

// write is the goroutine. Only if nobody reads it is not waited for.
func (a *apart) write() {
	defer close(a.done)
	for do := range a.jobs {
		if a.waits.Err() != nil {
			continue
		}
		if err := do(); err != nil {
			a.stop(err)
			a.failed(err)
		}
	}
}

// Deliver implements event.Sink. An error of next comes later.
func (a *apart) Deliver(ctx context.Context, batch []event.Event) error {
	events, size := int64(0), int64(apartBatch)
	for i := range batch {
		if e := &batch[i]; !e.Type.IsStatus() {
			events++
			size += int64(len(e.Object.Raw()))
		}
	}
	size = min(size, apartBytes)
	a.unwritten.Add(events)
	if a.room.Acquire(a.waits, size) == nil {
		batch = slices.Clone(batch)
		a.put(func() error {
			defer a.room.Release(size)
			err := a.next.Deliver(context.WithoutCancel(ctx), batch)
			if err == nil {
				a.unwritten.Add(-events)
			}
			return err
		})
	}
	return a.err()
}

// noting returns note, for which the same holds.
func (a *apart) noting(note func(time.Time, string)) func(time.Time, string) {
	if a == nil {
		return note
	}
	return func(at time.Time, text string) {
		a.put(func() error {
			note(at, text)
			return nil
		})
	}
}

// put has something done after all that was put before.
func (a *apart) put(do func() error) {
	select {
	case a.jobs <- do:
	case <-a.waits.Done():
	}
}

func (a *apart) err() error {
	if err := context.Cause(a.waits); !errors.Is(err, errNobodyReads) {
		return err
	}
	return nil
}

// giveUp stops writing when nobody reads for a time.
func (a *apart) giveUp() {
	for before := int64(-1); before != a.written.Load(); {
		before = a.written.Load()
		select {
		case <-a.done:
			return
		case <-a.waits.Done():
			return
		case <-time.After(readerPatience):
		}
	}
	a.stop(errNobodyReads)
}

// finish waits until all is written, but not for a reader who does not read if the run has
// ended as it was to. It returns what there is to say of that, and the error of writing.
func (a *apart) finish(asked bool) (unread string, err error) {
	if a == nil {
		return "", nil
	}
	close(a.jobs)
	if asked {
		a.giveUp()
	}
	select {
	case <-a.done:
	case <-a.waits.Done():
	}
	if n := a.unwritten.Load(); n > 0 && a.err() == nil {
		unread = fmt.Sprintf("%v: of %d events not all were written", errNobodyReads, n)
	}
	return unread, a.err()
}
