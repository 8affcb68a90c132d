package watcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
)

// Resolver finds a resource again whose name the server did not know any more.
// The error satisfies meta.IsNoMatchError while the server has no such resource.
type Resolver interface {
	Resolve(ctx context.Context, name string) ([]*meta.RESTMapping, error)
}

// Options says what to watch. Client, Resolver and Targets must be set.
type Options struct {
	Client   dynamic.Interface
	Resolver Resolver
	// Targets are watched side by side. No two may be the same.
	Targets []Target
	// LabelSelector and FieldSelector narrow each target; empty means all.
	LabelSelector string
	FieldSelector string
	// ManagedFields keeps metadata.managedFields, which are dropped otherwise.
	ManagedFields bool
	// RequestTimeout bounds each list request; 0 means one minute. It never
	// applies to a watch.
	RequestTimeout time.Duration
	// Idle, if not nil, is called by Run's loop after an emit that no other
	// event is waiting behind: the time to flush.
	Idle func() error
}

// Watcher watches the targets of its options. It keeps no state between runs.
type Watcher struct{ options Options }

// New returns a Watcher; it does nothing yet.
func New(options Options) *Watcher { return &Watcher{options} }

// queue is how many events may wait for emit: enough for large writes, too few
// to matter in memory.
const queue = 128

// Run emits the events of all targets until ctx ends, emit returns an error, or
// the watch could not be started. See the package comment for the contract.
func (w *Watcher) Run(ctx context.Context, emit func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	events := make(chan Event, queue)
	// The loop below receives until the channel is closed, so a send can't hang.
	send := func(e Event) { events <- e }

	start := starting{targets: len(w.options.Targets), fail: cancel}
	var running sync.WaitGroup
	for _, t := range w.options.Targets {
		rt := newTarget(t, &w.options, send)
		running.Go(func() {
			denied := start.denial(rt)
			if err := rt.run(ctx, denied); err != nil {
				cancel(&startError{err})
			}
		})
	}
	go func() {
		running.Wait()
		close(events)
	}()
	if err := w.pump(events, emit, cancel); err != nil {
		return err
	}
	var failed *startError
	if errors.As(context.Cause(ctx), &failed) {
		return failed.err
	}
	return nil
}

// pump emits until events is closed. After an error it only receives.
func (w *Watcher) pump(events <-chan Event, emit func(Event) error, cancel context.CancelCauseFunc) error {
	var failed error
	check := func(err error) {
		if err != nil && failed == nil {
			failed = err
			cancel(err)
		}
	}
	for e := range events {
		if failed != nil {
			continue
		}
		check(emit(e))
		if len(events) == 0 && failed == nil && w.options.Idle != nil {
			check(w.options.Idle())
		}
	}
	return failed
}

// startError ends Run because a target could not start.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

// starting counts the targets that were denied before they started: one must
// not stop the others, but when all are there is nothing to watch.
type starting struct {
	targets int
	fail    context.CancelCauseFunc

	mu     sync.Mutex
	denied []error
}

// denial returns what t calls when it is denied; only the first time counts.
func (s *starting) denial(t *target) func(error) {
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			s.mu.Lock()
			s.denied = append(s.denied, err)
			all := len(s.denied) == s.targets
			s.mu.Unlock()
			if all {
				s.fail(&startError{errors.Join(s.denied...)})
				return
			}
			t.mark(Event{Type: Denied, Err: err})
		})
	}
}
