package watcher

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// startError ends Run because a target could not start.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

// starting weighs what is refused before it has started: one target must not stop
// the others, but when all are refused there is nothing to watch. A refusal is
// told when another target has started, which is when it is not an error.
type starting struct {
	targets int
	fail    context.CancelCauseFunc

	mu      sync.Mutex
	begun   bool      // a target has started
	refused []refusal // not told yet
}

// refusal says why the target of this index is refused.
type refusal struct {
	target *target
	index  int
	err    error
}

// refuse notes the refusal of a target.
func (s *starting) refuse(d refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, d)
	switch {
	case s.begun:
		s.tellLocked()
	case len(s.refused) == s.targets:
		slices.SortFunc(s.refused, func(a, b refusal) int { return cmp.Compare(a.index, b.index) })
		var errs []error
		for _, d := range s.refused {
			errs = append(errs, d.err)
		}
		s.fail(&startError{errors.Join(errs...)})
	}
}

// begin notes that the target of this index has started.
func (s *starting) begin(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	s.refused = slices.DeleteFunc(s.refused, func(d refusal) bool { return d.index == index })
	s.tellLocked()
}

func (s *starting) tellLocked() {
	for _, d := range s.refused {
		d.target.mark(Event{Type: lossType(d.err), Err: d.err})
	}
	s.refused = nil
}
