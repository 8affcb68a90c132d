package watcher

import (
	"context"
	"sync"
)

// Resolver finds out what there is to watch.
type Resolver interface {
	// Resolve asks the server, whatever it said before. It may be called from
	// several goroutines.
	Resolve(ctx context.Context) (Found, error)
}

// roster has the targets of one Run, which come and go with what the server
// serves. A target leaves by itself, when the server answers it 404 and names its
// resource no more. From the first that leaves on, or from the start with
// Options.Follow, the roster follows what the server serves.
type roster struct {
	*run
	ctx      context.Context
	starting starting
	running  sync.WaitGroup
	follow   sync.Once

	mu      sync.Mutex
	present map[TargetKey]*target
	left    int // how many targets have left
}

func newRoster(ctx context.Context, r *run, fail context.CancelCauseFunc) *roster {
	return &roster{
		run:      r,
		ctx:      ctx,
		starting: starting{fail: fail},
		present:  map[TargetKey]*target{},
	}
}

// begin starts the targets that there are at the start. After an error it has
// started none.
func (r *roster) begin() error {
	targets := make([]*target, len(r.options.Targets))
	for i, t := range r.options.Targets {
		rt := newTarget(t, r.run)
		if err := rt.carryOn(r.options.Past); err != nil {
			return err
		}
		rt.index = i
		rt.begun = func() { r.starting.begin(rt) }
		rt.refused = func(err error) { r.starting.refuse(rt, err) }
		targets[i] = rt
	}
	r.starting.targets = len(targets)
	for _, t := range targets {
		r.launch(t)
	}
	if r.options.Follow {
		r.startFollowing()
	}
	return nil
}

// join starts a target that the server did not have before. Of narrower ones that
// it covers it takes over what they have told.
func (r *roster) join(t Target) {
	rt := newTarget(t, r.run)
	rt.joined, rt.answered = true, true
	for _, narrower := range r.coveredBy(t) {
		narrower.retire()
		for key, known := range narrower.ledger.told {
			known.epoch = 0 // not seen by rt yet
			rt.ledger.told[key] = known
		}
	}
	rt.mark(Event{Type: Arrived})
	r.launch(rt)
}

// coveredBy returns the targets whose only object is one of t's.
func (r *roster) coveredBy(t Target) []*target {
	r.mu.Lock()
	defer r.mu.Unlock()
	var covered []*target
	for key, other := range r.present {
		if key.Resource == t.Resource().GroupResource() && key.Namespace == t.Namespace && key.Name != "" && t.Name == "" {
			covered = append(covered, other)
		}
	}
	return covered
}

// launch runs a target until it leaves or retires.
func (r *roster) launch(t *target) {
	ctx, retire := context.WithCancel(r.ctx)
	t.cancel, t.ended = retire, make(chan struct{})
	r.mu.Lock()
	r.present[t.id] = t
	r.mu.Unlock()
	r.running.Go(func() {
		defer close(t.ended)
		defer retire()
		err := t.live(ctx)
		switch {
		case err != nil:
			r.starting.fail(&startError{err})
		case r.ctx.Err() == nil:
			r.leave(t)
		}
	})
}

func (r *roster) leave(t *target) {
	r.mu.Lock()
	delete(r.present, t.id)
	r.left++
	r.mu.Unlock()
	if !t.joined {
		r.starting.leave(t)
	}
	r.startFollowing()
}

func (r *roster) startFollowing() {
	r.follow.Do(func() { r.running.Go(r.followServer) })
}

// look compares what is watched with what the server has. Targets that it does
// not have are not ended: it may be that it does not know yet. They are made to
// ask it themselves. It reports false if there has to be another look.
func (r *roster) look() bool {
	r.mu.Lock()
	left := r.left
	r.mu.Unlock()
	found, err := r.options.Resolver.Resolve(r.ctx)
	if err != nil {
		return true // the time for another look comes
	}
	fresh, ok := r.compare(found, left)
	for _, t := range fresh {
		r.join(t)
	}
	return ok
}

// compare returns the targets that are new. What was found before another target
// left, as the number of those that have left tells, is older than that.
func (r *roster) compare(found Found, left int) (fresh []Target, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left != r.left {
		return nil, false
	}
	for _, t := range found.Targets {
		if r.present[t.Key()] == nil {
			fresh = append(fresh, t)
		}
	}
	for key, t := range r.present {
		if found.Lacks(key) {
			t.poke()
		}
	}
	return fresh, true
}
