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
	fail context.CancelCauseFunc

	mu      sync.Mutex
	targets int
	begun   bool      // a target has started
	refused []refusal // not told yet
}

// refusal says why a target is refused.
type refusal struct {
	target *target
	err    error
}

// refuse notes the refusal of a target.
func (s *starting) refuse(t *target, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, refusal{t, err})
	s.weighLocked()
}

// begin notes that a target has started.
func (s *starting) begin(t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	s.forgetLocked(t)
	s.weighLocked()
}

// leave notes that the server does not have the target, so that it is neither.
func (s *starting) leave(t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.targets--
	s.forgetLocked(t)
	s.weighLocked()
}

func (s *starting) forgetLocked(t *target) {
	s.refused = slices.DeleteFunc(s.refused, func(r refusal) bool { return r.target == t })
}

func (s *starting) weighLocked() {
	switch {
	case len(s.refused) == 0:
	case s.begun:
		for _, r := range s.refused {
			r.target.tellRefusal(r.err)
		}
		s.refused = nil
	case len(s.refused) == s.targets:
		slices.SortFunc(s.refused, func(a, b refusal) int { return cmp.Compare(a.target.index, b.target.index) })
		var errs []error
		for _, r := range s.refused {
			errs = append(errs, r.err)
		}
		s.fail(&startError{errors.Join(errs...)})
	}
}
