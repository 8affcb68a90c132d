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
	// commitInterval is the time between commits of what has been reported: each
	// costs two syncs of the disk, whatever its size.
	commitInterval = time.Second
	// commitSoon is how many changes do not wait for that.
	commitSoon = 8 << 10
)

// Stage is a Sink around another one that keeps the file. For each batch, one after
// the other:
//
//  1. the file: these objects are about to be reported as ADDED
//  2. the next Sink
//  3. the file: all that was reported, together with the next first step, or soon
//
// Without the first step a deletion could be lost: that of an object that was
// reported just before the process was killed, and deleted before the next one
// started. Where there is no ADDED in the batch, it is left out. What has come
// while the disk was busy is one batch, and one commit.
type Stage struct {
	file *File
	next event.Sink
	// failed is called when the file can't be written between two batches.
	failed func(error)
	// changes are those of the present batch.
	changes []change

	mu sync.Mutex
	// reported has been delivered, and is not in the file yet.
	reported  []change
	committed time.Time
	// due commits what is reported; nil while nothing is.
	due *time.Timer
	err error
}

// Stage returns a Stage before next. failed is called, once, if the file can't be
// written while nothing is delivered: that should end the run. The Stage is to be
// closed.
func (f *File) Stage(next event.Sink, failed func(error)) *Stage {
	return &Stage{file: f, next: next, failed: failed}
}

// Deliver implements event.Sink. An error of the file may come a batch late.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	s.changes = s.file.changesOf(s.changes[:0], batch)
	if err := s.announce(s.changes); err != nil {
		return err
	}
	if err := s.next.Deliver(ctx, batch); err != nil {
		return err
	}
	return s.record(s.changes)
}

// announce makes the file know of what is about to be reported as ADDED.
func (s *Stage) announce(changes []change) error {
	isAdded := func(c change) bool { return c.kind == event.Added }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && slices.ContainsFunc(changes, isAdded) {
		s.commitLocked(changes)
	}
	return s.err
}

// record has what was reported written to the file, now or soon.
func (s *Stage) record(changes []change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, changes...)
	since := time.Since(s.committed)
	switch {
	case s.err != nil || len(s.reported) == 0:
	case len(s.reported) >= commitSoon || since >= commitInterval:
		s.commitLocked(nil)
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
		s.commitLocked(nil)
	}
	err := s.err
	s.mu.Unlock()
	if err != nil && before == nil {
		s.failed(err)
	}
}

// commitLocked writes to the file what was reported, and what is about to be.
func (s *Stage) commitLocked(announced []change) {
	if s.due != nil {
		s.due.Stop()
		s.due = nil
	}
	reported := s.reported
	s.committed = time.Now()
	if len(reported) > 0 || len(announced) > 0 {
		if err := s.file.commit(reported, announced); err != nil {
			s.err = fmt.Errorf("write state file %s: %w", s.file.path, err)
		}
	}
	clear(reported)
	s.reported = reported[:0]
}

// Close records all that was delivered. It returns the error of the file, if there
// was one.
func (s *Stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.commitLocked(nil)
	}
	if s.due != nil {
		s.due.Stop()
	}
	return s.err
}
