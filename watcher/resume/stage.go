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
	// commitInterval is the time between commits, each of which costs two syncs of the disk.
	commitInterval = time.Second
	// commitSoon is how many changes do not wait for that.
	commitSoon = 8 << 10
)

// Stage is a Sink around another one that keeps the file. For each batch, one after the other:
//
//  1. the file: these objects are about to be reported as ADDED
//  2. the next Sink
//  3. the file: all that was reported, together with the next first step, or soon
//
// Without the first step, which a batch without ADDED does not take, a deletion could be lost: that
// of an object that was reported just before the process was killed, and deleted before the next
// one started.
//
// With an Outbox the next Sink has a batch when it is in there, which is one commit with all that
// was reported. There is nothing to announce: nothing is sent before.
type Stage struct {
	// Held: what is delivered was held before, and what becomes of it may be for long. With an Outbox, what came
	// and was not put there is in the file on the return then, and else soon.
	UpstreamBuffers bool

	file     *File
	outbox   *Outbox // nil: none
	next     event.Sink
	failed   func(error)
	changes  []change // of the present batch
	entering []change // those of them that are reported with what comes into the outbox

	mu        sync.Mutex
	reported  []change // delivered, and not in the file yet
	committed time.Time
	due       *time.Timer // commits what is reported; nil while nothing is
	err       error
}

// Stage returns a Stage before next, which is to be closed. failed is called, once, if the file
// can't be written while nothing is delivered: that should end the run. Where the file has an
// Outbox, next puts into it what it is given.
func (f *File) NewStage(next event.Sink, failed func(error)) *Stage {
	s := &Stage{file: f, outbox: f.outbox, next: next, failed: failed}
	if f.outbox != nil {
		f.outbox.stage = s
	}
	return s
}

// Deliver implements event.Sink. An error of the file may come a batch late.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	s.changes = s.file.changesOf(s.changes[:0], batch)
	if s.outbox != nil {
		return s.deliverInto(ctx, batch)
	}
	if err := s.announce(s.changes); err != nil {
		return err
	}
	if err := s.next.Deliver(ctx, batch); err != nil {
		return err
	}
	return s.record(s.changes, false)
}

// deliverInto delivers a batch to a Sink that puts it into the outbox, or that has nothing to put
// there: it counts as reported all the same.
func (s *Stage) deliverInto(ctx context.Context, batch []event.Event) error {
	s.entering = s.changes
	err := s.next.Deliver(ctx, batch)
	left := s.entering
	s.entering = nil
	if err != nil {
		return err
	}
	return s.record(left, s.UpstreamBuffers && slices.ContainsFunc(left, change.adds))
}

// announce makes the file know of what is about to be reported as ADDED.
func (s *Stage) announce(changes []change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && slices.ContainsFunc(changes, change.adds) {
		s.commitLocked(commitment{announced: changes})
	}
	return s.err
}

// adds reports whether an object came.
func (c change) adds() bool { return c.kind == event.Added }

// record has what was reported written to the file, now or soon.
func (s *Stage) record(changes []change, now bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, changes...)
	since := time.Since(s.committed)
	switch {
	case s.err != nil || len(s.reported) == 0:
	case now, len(s.reported) >= commitSoon, since >= commitInterval:
		s.commitLocked(commitment{})
	case s.due == nil:
		s.due = time.AfterFunc(commitInterval-since, s.commitDue)
	}
	return s.err
}

// commitDue commits what no further batch has taken along.
func (s *Stage) commitDue() {
	s.mu.Lock()
	before := s.err
	if before == nil {
		s.commitLocked(commitment{})
	}
	err := s.err
	s.mu.Unlock()
	if err != nil && before == nil {
		s.failed(err)
	}
}

// commitLocked writes c, with what was reported and what has left the outbox since.
func (s *Stage) commitLocked(c commitment) (first uint64) {
	if s.due != nil {
		s.due.Stop()
		s.due = nil
	}
	c.reported = s.reported
	c.left = append(c.left, s.outbox.takeRemoved()...)
	s.committed = time.Now()
	if len(c.reported)+len(c.announced)+len(c.entered)+len(c.left) > 0 {
		var err error
		if first, err = s.file.commit(c); err != nil {
			s.err = fmt.Errorf("write state file %s: %w", s.file.path, err)
		}
	}
	clear(c.reported)
	s.reported = c.reported[:0]
	return first
}

// Close records all that was delivered. It returns the error of the file, if there was one.
func (s *Stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.commitLocked(commitment{})
	}
	return s.err
}
