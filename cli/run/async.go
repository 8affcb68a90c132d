package run

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
	asyncBytes     = 16 << 20        // how much may wait for a slow reader
	asyncOverhead  = 1 << 10         // the overhead of a batch
	readerPatience = 2 * time.Second // how long an ending run waits for a reader that reads nothing
)

// asyncWriter is a Sink that writes to stdout in a goroutine of its own, so that a condition can end the run while
// the reader is stuck. When too much waits, Deliver blocks.
type asyncWriter struct {
	next event.Sink
	room *semaphore.Weighted
	jobs chan func() error
	// writing ends when the reader is stuck or writing has failed.
	writing   context.Context
	stop      context.CancelCauseFunc
	fail      context.CancelCauseFunc // ends the run
	written   *atomic.Int64           // bytes written to stdout
	unwritten atomic.Int64            // events
	done      chan struct{}           // closed when the goroutine has ended
}

var errNobodyReads = errors.New("the reader of stdout does not read")

// newAsyncWriter returns an asyncWriter before next. written counts the bytes that next writes. The caller calls finish.
func newAsyncWriter(ctx context.Context, next event.Sink, written *atomic.Int64, fail context.CancelCauseFunc) *asyncWriter {
	a := &asyncWriter{next: next, room: semaphore.NewWeighted(asyncBytes), jobs: make(chan func() error, 2*asyncBytes/asyncOverhead), fail: fail, written: written, done: make(chan struct{})}
	a.writing, a.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	go a.write()
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrTimeout) {
			a.giveUp() // Deliver may be waiting for room
		}
	})
	return a
}

// write runs the jobs. finish does not wait for a stuck reader.
func (a *asyncWriter) write() {
	defer close(a.done)
	for do := range a.jobs {
		if a.writing.Err() != nil {
			continue
		}
		if err := do(); err != nil {
			a.stop(err)
			a.fail(err)
		}
	}
}

// Deliver implements event.Sink. It returns an error of next at a later call.
func (a *asyncWriter) Deliver(ctx context.Context, batch []event.Event) error {
	events, size := int64(0), int64(asyncOverhead)
	for i := range batch {
		if e := &batch[i]; !e.Type.IsStatus() {
			events++
			size += int64(len(e.Object.Raw()))
		}
	}
	size = min(size, asyncBytes)
	a.unwritten.Add(events)
	if a.room.Acquire(a.writing, size) == nil {
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

// queueNotes returns a function that calls note in order with the batches. If a is nil, it returns note.
func (a *asyncWriter) queueNotes(note func(time.Time, string)) func(time.Time, string) {
	if a == nil || note == nil {
		return note
	}
	return func(at time.Time, text string) {
		a.put(func() error {
			note(at, text)
			return nil
		})
	}
}

func (a *asyncWriter) put(do func() error) {
	select {
	case a.jobs <- do:
	case <-a.writing.Done():
	}
}

func (a *asyncWriter) err() error {
	if err := context.Cause(a.writing); !errors.Is(err, errNobodyReads) {
		return err
	}
	return nil
}

// giveUp stops writing when the reader has not read for readerPatience.
func (a *asyncWriter) giveUp() {
	for before := int64(-1); before != a.written.Load(); {
		before = a.written.Load()
		select {
		case <-a.done:
			return
		case <-a.writing.Done():
			return
		case <-time.After(readerPatience):
		}
	}
	a.stop(errNobodyReads)
}

// finish waits until everything is written. If asked is set, the run ended as requested: then it does not wait for a stuck reader, and
// unread says so. A nil asyncWriter has nothing to wait for.
func (a *asyncWriter) finish(asked bool) (unread string, err error) {
	if a == nil {
		return "", nil
	}
	close(a.jobs)
	if asked {
		a.giveUp()
	}
	select {
	case <-a.done:
	case <-a.writing.Done():
	}
	if n := a.unwritten.Load(); n > 0 && a.err() == nil {
		unread = fmt.Sprintf("%v: not all of %d events were written", errNobodyReads, n)
	}
	return unread, a.err()
}
