package watcher

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resolver finds out what there is to watch.
type Resolver interface {
	// Resolve asks the server, whatever it said before. It may be called from
	// several goroutines.
	Resolve(ctx context.Context) (Found, error)
}

// Found is what a Resolver has found.
type Found struct {
	Targets []Target
	// Unsure are the group versions that could not be asked: what is watched of
	// them is watched on.
	Unsure []schema.GroupVersion
}

// find returns the target of this key.
func (f Found) find(key targetKey) (Target, bool) {
	i := slices.IndexFunc(f.Targets, func(t Target) bool { return t.key() == key })
	if i < 0 {
		return Target{}, false
	}
	return f.Targets[i], true
}

// lacks reports whether the server does not have the target, for sure.
func (f Found) lacks(key targetKey) bool {
	if _, there := f.find(key); there {
		return false
	}
	return !slices.ContainsFunc(f.Unsure, func(gv schema.GroupVersion) bool { return gv.Group == key.resource.Group })
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
	present map[targetKey]*target
}

func newRoster(ctx context.Context, r *run, fail context.CancelCauseFunc) *roster {
	return &roster{
		run:      r,
		ctx:      ctx,
		starting: starting{targets: len(r.options.Targets), fail: fail},
		present:  map[targetKey]*target{},
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
		rt.begun = func() { r.starting.begin(i) }
		rt.refused = func(err error) { r.starting.refuse(refusal{rt, i, err}) }
		targets[i] = rt
	}
	for _, t := range targets {
		r.launch(t)
	}
	if r.options.Follow {
		r.startFollowing()
	}
	return nil
}

// join starts a target that the server did not have before.
func (r *roster) join(t Target) {
	rt := newTarget(t, r.run)
	rt.joined, rt.answered = true, true
	rt.mark(Event{Type: Arrived})
	r.launch(rt)
}

// launch runs a target until it leaves.
func (r *roster) launch(t *target) {
	r.mu.Lock()
	r.present[t.id] = t
	r.mu.Unlock()
	r.running.Go(func() {
		if err := t.live(r.ctx); err != nil {
			r.starting.fail(&startError{err})
			return
		}
		if r.ctx.Err() == nil {
			r.leave(t)
		}
	})
}

func (r *roster) leave(t *target) {
	r.mu.Lock()
	delete(r.present, t.id)
	r.mu.Unlock()
	r.startFollowing()
}

func (r *roster) startFollowing() {
	r.follow.Do(func() { r.running.Go(r.followServer) })
}

// look compares what is watched with what the server has. Targets that it does
// not have are not ended: it may be that it does not know yet. They are made to
// ask it themselves.
func (r *roster) look() {
	found, err := r.options.Resolver.Resolve(r.ctx)
	if err != nil {
		return // there will be another look
	}
	r.mu.Lock()
	var fresh []Target
	for _, t := range found.Targets {
		if r.present[t.key()] == nil {
			fresh = append(fresh, t)
		}
	}
	for key, t := range r.present {
		if found.lacks(key) {
			t.poke()
		}
	}
	r.mu.Unlock()
	for _, t := range fresh {
		r.join(t)
	}
}
