package watcher

import (
	"context"
	"maps"
	"sync"

	"dwatch/watcher/event"
)

// Resolver finds the targets to watch. Each call asks the server again. It may be called from several
// goroutines.
type Resolver interface {
	Resolve(ctx context.Context) (event.Resolution, error)
}

// targetSet runs the targets of one Run, and adds and removes targets with what the server serves. A
// target ends by itself if the server returns 404 and discovery does not list its resource any
// more. The set follows the server from the start if Options.Follow is set, otherwise from the first
// target that ends.
type targetSet struct {
	*runState
	ctx     context.Context
	fail    context.CancelCauseFunc
	running sync.WaitGroup
	follow  sync.Once

	mu       sync.Mutex
	runners  map[event.Key]*runner
	endCount int // number of targets that have ended
	// selected says for each namespace whether it was selected when the set was last resolved. nil
	// means that namespaces are not selected.
	selected map[string]bool
	// awaitsDeletions is true if a deleted namespace had a target that was not idle when the set was
	// last resolved. Only the goroutine of followServer uses it.
	awaitsDeletions bool
}

func newTargetSet(ctx context.Context, s *runState, fail context.CancelCauseFunc) *targetSet {
	return &targetSet{runState: s, ctx: ctx, fail: fail, runners: map[event.Key]*runner{}, selected: selectedNamespaces(s.options.Namespaces)}
}

// start starts the initial targets. If it returns an error, it has started none.
func (s *targetSet) start() error {
	runners := make([]*runner, len(s.options.Targets))
	for i, t := range s.options.Targets {
		target := s.options.newTarget(t)
		target.index = i
		if err := target.restore(s.options.History); err != nil {
			return err
		}
		runners[i] = s.newRunner(target)
	}
	for _, r := range runners {
		s.launch(r)
	}
	if s.options.Follow {
		s.startFollowing()
	}
	if s.options.RequestsChanged != nil {
		s.running.Go(s.removeUnrequested)
	}
	return nil
}

// removeUnrequested ends targets when they are no longer requested, until the context ends.
func (s *targetSet) removeUnrequested() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.options.RequestsChanged:
		}
		var unrequested []*runner
		s.mu.Lock()
		for key, r := range s.runners {
			if !s.options.IsRequested(key) {
				unrequested = append(unrequested, r)
			}
		}
		s.mu.Unlock()
		sortRunners(unrequested)
		for _, r := range unrequested {
			r.unrequested.Store(true)
			s.end(r, event.ErrNotRequested)
		}
	}
}

// add starts a target that joins with status. It replaces the targets that it covers.
func (s *targetSet) add(t event.Target, status event.Type, mayHaveExisted bool) {
	r := s.newRunner(s.options.newTarget(t))
	r.joined, r.target.existed = true, s.existedAtStart
	r.source.AssumeServerResponded()
	s.mu.Lock()
	runners := maps.Clone(s.runners)
	s.mu.Unlock()
	var narrower []*target
	for key, other := range runners {
		if t.Key().Covers(key) {
			other.cancel()
			<-other.done // it sends nothing more
			narrower = append(narrower, other.target)
		}
	}
	r.send(message{target: r.target, kind: msgJoined, narrower: narrower, status: status, mayHaveExisted: mayHaveExisted})
	s.launch(r)
}

func (s *targetSet) launch(r *runner) {
	ctx, cancel := context.WithCancel(s.ctx)
	r.cancel, r.done = cancel, make(chan struct{})
	s.mu.Lock()
	s.runners[r.key] = r
	s.mu.Unlock()
	s.running.Go(func() {
		defer close(r.done)
		var verifying sync.WaitGroup
		defer verifying.Wait()
		defer cancel()
		if s.options.VerifyInterval > 0 {
			verifying.Go(func() { r.verifyRepeatedly(ctx) })
		}
		err := r.runSessions(ctx, r.source.Run)
		switch {
		case err != nil:
			s.fail(&startError{err})
		case s.ctx.Err() == nil:
			s.remove(r)
		}
	})
}

// remove removes a target that has ended. From then on, the set follows the server, unless the target
// ended because it is no longer requested.
func (s *targetSet) remove(r *runner) {
	s.mu.Lock()
	delete(s.runners, r.key)
	s.endCount++
	s.mu.Unlock()
	if !r.joined {
		r.send(message{target: r.target, kind: msgEnded})
	}
	if !r.unrequested.Load() {
		s.startFollowing()
	}
}

// recheckAll renews all watches.
func (s *targetSet) recheckAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runners {
		r.source.Recheck()
	}
}

func (s *targetSet) startFollowing() {
	s.follow.Do(func() { s.running.Go(s.followServer) })
}

// resolve adds and removes targets so that the set matches what the server serves. If the server does
// not list the resource of a target, resolve renews its watch, whose result decides: discovery may
// be behind. resolve returns false if it has to be repeated.
func (s *targetSet) resolve() bool {
	s.mu.Lock()
	endCount := s.endCount
	s.mu.Unlock()
	found, err := s.options.Resolver.Resolve(s.ctx)
	if err != nil {
		return true // the follower resolves again later
	}
	added, removed, ok := s.compare(found, endCount)
	if !ok {
		return false
	}
	for _, r := range removed {
		s.endExcluded(r, found)
	}
	for _, t := range added {
		s.add(s.joinStatus(t, found))
	}
	if found.Namespaces != nil {
		s.selected = selectedNamespaces(found.Namespaces)
	}
	return true
}

// compare returns the new targets, and the runners of targets whose namespace is not selected any
// more. If a target has ended after endCount was read, found is outdated, and ok is false.
func (s *targetSet) compare(found event.Resolution, endCount int) (added []event.Target, removed []*runner, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if endCount != s.endCount {
		return nil, nil, false
	}
	s.awaitsDeletions = false
	for _, t := range found.Targets {
		if s.runners[t.Key()] == nil {
			added = append(added, t)
		}
	}
	for key, r := range s.runners {
		excluded, exists := found.NamespaceExcluded(key)
		switch {
		case found.IsMissing(key):
			r.source.Recheck()
		case excluded && (exists || r.target.idle.Load()):
			removed = append(removed, r)
		case excluded:
			s.awaitsDeletions = true
		}
	}
	sortByNamespace(added)
	sortRunners(removed)
	return added, removed, true
}
