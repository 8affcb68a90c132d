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

// starting weighs what is denied before it has started: one target must not
// stop the others, but when all are denied there is nothing to watch. A denial
// is told when another target has started, which is when it is not an error.
type starting struct {
	targets int
	fail    context.CancelCauseFunc

	mu     sync.Mutex
	begun  bool     // a target has started
	denied []denial // not told yet
}

// denial says why the target of this index is denied.
type denial struct {
	target *target
	index  int
	err    error
}

// deny notes the first denial of a target.
func (s *starting) deny(d denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = append(s.denied, d)
	switch {
	case s.begun:
		s.tellLocked()
	case len(s.denied) == s.targets:
		slices.SortFunc(s.denied, func(a, b denial) int { return cmp.Compare(a.index, b.index) })
		var errs []error
		for _, d := range s.denied {
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
	s.denied = slices.DeleteFunc(s.denied, func(d denial) bool { return d.index == index })
	s.tellLocked()
}

func (s *starting) tellLocked() {
	for _, d := range s.denied {
		d.target.mark(Event{Type: Denied, Err: d.err})
	}
	s.denied = nil
}
