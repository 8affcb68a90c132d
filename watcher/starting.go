package watcher

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"dwatch/watcher/event"
)

// startError ends Run because a target could not start.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

// starting decides what a refusal means that comes before the target was served: when all are
// refused, Run ends, and when one is served, the refusals of others are reported. It belongs to
// the loop.
type starting struct {
	fail    context.CancelCauseFunc
	targets int
	served  bool      // a target is, or was
	refused []refusal // not reported yet
}

type refusal struct {
	target *target
	err    error
}

func (s *starting) refuse(dst []event.Event, t *target, err error) []event.Event {
	s.refused = append(s.refused, refusal{t, err})
	return s.decide(dst)
}

func (s *starting) serve(dst []event.Event, t *target) []event.Event {
	s.served = true
	s.forget(t)
	return s.decide(dst)
}

// leave: the server does not have the target, so it counts as neither.
func (s *starting) leave(dst []event.Event, t *target) []event.Event {
	s.targets--
	s.forget(t)
	return s.decide(dst)
}

func (s *starting) forget(t *target) {
	s.refused = slices.DeleteFunc(s.refused, func(r refusal) bool { return r.target == t })
}

// decide reports the refusals, or ends Run with them, or waits for more.
func (s *starting) decide(dst []event.Event) []event.Event {
	switch {
	case len(s.refused) == 0:
	case s.served:
		for _, r := range s.refused {
			dst = r.target.reportRefusal(dst, r.err)
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
	return dst
}
