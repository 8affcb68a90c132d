package resume

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"dwatch/watcher/event"
)

const (
	// commitInterval is the maximum time until reported changes are committed. Each commit syncs the
	// disk twice, so several batches share one. Batches with ADDED objects do not wait for it.
	commitInterval = time.Second
	// commitSoon is the number of changes that are committed without waiting for commitInterval.
	commitSoon = 8 << 10
)

// Stage is a Sink that wraps another one and writes the file. For each batch in turn:
//
//  1. It records in the file that the ADDED objects are about to be reported.
//  2. It delivers the batch to the next Sink.
//  3. It records in the file everything that was reported, together with step 1 of the next batch, or soon.
//
// Step 1 is omitted for batches without ADDED. Without it, a deletion could be lost: that of an
// object that was reported just before the process was killed, and deleted before the next process
// started.
//
// With an Outbox, the next Sink adds the batch to the outbox in one commit with everything that was
// reported. Nothing has to be announced, because nothing is sent before that.
type Stage struct {
	// UpstreamBuffers says that an upstream stage may have buffered the events for long, and that
	// their effects may remain buffered. With an Outbox, objects that came and were not added to it
	// are then recorded before Deliver returns, and otherwise soon.
	UpstreamBuffers bool

	file       *File
	outbox     *Outbox // nil if there is no receiver
	next       event.Sink
	failed     func(error)
	changes    []change // of the current batch
	withOutbox []change // changes that are committed with the next Outbox.Add

	mu        sync.Mutex
	reported  []change // delivered, but not in the file yet
	committed time.Time
	due       *time.Timer // commits reported; nil if it is empty
	err       error
}

// NewStage returns a Stage before next. The caller must close it. failed is called once if the file
// can't be written between batches, which should end the run. If the file has an Outbox, next must
// add its events to it.
func (f *File) NewStage(next event.Sink, failed func(error)) *Stage {
	s := &Stage{file: f, outbox: f.outbox, next: next, failed: failed}
	if f.outbox != nil {
		f.outbox.stage = s
	}
	return s
}

// Deliver implements event.Sink. An error of the file may be returned one batch late.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	s.changes = s.file.changesOf(s.changes[:0], batch)
	if s.outbox != nil {
		return s.deliverToOutbox(ctx, batch)
	}
	if err := s.announce(s.changes); err != nil {
		return err
	}
	if err := s.next.Deliver(ctx, batch); err != nil {
		return err
	}
	return s.record(s.changes, false)
}

// deliverToOutbox delivers a batch to a Sink that adds events to the outbox. Events that it does
// not add also count as reported.
func (s *Stage) deliverToOutbox(ctx context.Context, batch []event.Event) error {
	s.withOutbox = s.changes
	err := s.next.Deliver(ctx, batch)
	remaining := s.withOutbox
	s.withOutbox = nil
	if err != nil {
		return err
	}
	return s.record(remaining, s.UpstreamBuffers && slices.ContainsFunc(remaining, change.isAdded))
}

// announce records in the file which objects are about to be reported as ADDED.
func (s *Stage) announce(changes []change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && slices.ContainsFunc(changes, change.isAdded) {
		s.commitLocked(transaction{announced: changes})
	}
	return s.err
}

// isAdded reports whether the change is an ADDED event.
func (c change) isAdded() bool { return c.kind == event.Added }

// record writes reported changes to the file, now or soon.
func (s *Stage) record(changes []change, now bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, changes...)
	since := time.Since(s.committed)
	switch {
	case s.err != nil || len(s.reported) == 0:
	case now, len(s.reported) >= commitSoon, since >= commitInterval:
		s.commitLocked(transaction{})
	case s.due == nil:
		s.due = time.AfterFunc(commitInterval-since, s.commitDue)
	}
	return s.err
}

// commitDue commits changes that no later batch has committed.
func (s *Stage) commitDue() {
	s.mu.Lock()
	before := s.err
	if before == nil {
		s.commitLocked(transaction{})
	}
	err := s.err
	s.mu.Unlock()
	if err != nil && before == nil {
		s.failed(err)
	}
}

// commitLocked commits t with all reported changes and removed records. s.mu must be held.
func (s *Stage) commitLocked(t transaction) (first uint64) {
	if s.due != nil {
		s.due.Stop()
		s.due = nil
	}
	t.reported = s.reported
	t.removed = append(t.removed, s.outbox.takeRemoved()...)
	s.committed = time.Now()
	if len(t.reported)+len(t.announced)+len(t.added)+len(t.removed) > 0 {
		var err error
		if first, err = s.file.commit(t); err != nil {
			s.err = fmt.Errorf("write state file %s: %w", s.file.path, err)
		}
	}
	clear(t.reported)
	s.reported = t.reported[:0]
	return first
}

// Close records everything that was delivered. It returns the error of the file, if there was one.
func (s *Stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.commitLocked(transaction{})
	}
	return s.err
}
