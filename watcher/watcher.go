package watcher

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
	// SyncSilence is how long the server may say nothing while it streams the
	// initial events, before it is asked for a list instead: proxies and old
	// servers accept the request, and never end it. 0 means 10 seconds.
	SyncSilence time.Duration
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
	for i, t := range w.options.Targets {
		rt := newTarget(t, &w.options, send)
		rt.begun = func() { start.begin(i) }
		running.Go(func() {
			var once sync.Once
			denied := func(err error) { once.Do(func() { start.deny(denial{rt, i, err}) }) }
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
