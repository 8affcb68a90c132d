package watcher

import (
	"context"
	"maps"
	"sync"

	"dwatch/watcher/event"
)

// Resolver finds out what there is to watch: it asks the server, whatever that said before. It may
// be called from several goroutines.
type Resolver interface {
	Resolve(ctx context.Context) (event.Resolution, error)
}

// targetSet has the targets of one Run, which come and go with what the server serves. A target
// leaves by itself, when the server answers it 404 and names its resource no more. From the first
// that leaves on, or from the start with Options.Follow, the set follows what the server serves.
type targetSet struct {
	*run
	ctx     context.Context
	fail    context.CancelCauseFunc
	running sync.WaitGroup
	follow  sync.Once

	mu      sync.Mutex
	present map[event.Key]*life
	left    int // how many targets have left
	// chosen are the namespaces that were, at the last look; nil if they are not chosen.
	chosen map[string]bool
	// lingers: at the last look a target was in a namespace that was deleted, and not idle. Only looks
	// and who plans them know.
	lingers bool
}

func newTargetSet(ctx context.Context, r *run, fail context.CancelCauseFunc) *targetSet {
	return &targetSet{run: r, ctx: ctx, fail: fail, present: map[event.Key]*life{}, chosen: chosenOf(r.options.Namespaces)}
}

// begin starts the targets that there are at the start; after an error none.
func (s *targetSet) begin() error {
	lives := make([]*life, len(s.options.Targets))
	for i, t := range s.options.Targets {
		target := s.options.newTarget(t)
		target.index = i
		if err := target.restore(s.options.History); err != nil {
			return err
		}
		lives[i] = s.newLife(target)
	}
	for _, l := range lives {
		s.launch(l)
	}
	if s.options.Follow {
		s.startFollowing()
	}
	if s.options.RequestsChanged != nil {
		s.running.Go(s.dropUnasked)
	}
	return nil
}

// dropUnasked ends the targets that are not asked for any more.
func (s *targetSet) dropUnasked() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.options.RequestsChanged:
		}
		var unasked []*life
		s.mu.Lock()
		for key, l := range s.present {
			if !s.options.IsRequested(key) {
				unasked = append(unasked, l)
			}
		}
		s.mu.Unlock()
		inOrder(unasked)
		for _, l := range unasked {
			l.unasked.Store(true)
			s.end(l, event.ErrNotRequested)
		}
	}
}

// add starts a target that was not there before, as mark says, in place of those that it covers.
func (s *targetSet) add(t event.Target, mark event.Type, existing bool) {
	l := s.newLife(s.options.newTarget(t))
	l.joined, l.target.existed = true, s.existed
	l.source.AssumeServerResponded()
	s.mu.Lock()
	present := maps.Clone(s.present)
	s.mu.Unlock()
	var narrower []*target
	for key, n := range present {
		if t.Key().Covers(key) {
			n.cancel() // it notes nothing
			<-n.ended
			narrower = append(narrower, n.target)
		}
	}
	l.note(note{of: l.target, what: joined, narrower: narrower, mark: mark, existing: existing})
	s.launch(l)
}

func (s *targetSet) launch(l *life) {
	ctx, cancel := context.WithCancel(s.ctx)
	l.cancel, l.ended = cancel, make(chan struct{})
	s.mu.Lock()
	s.present[l.key] = l
	s.mu.Unlock()
	s.running.Go(func() {
		defer close(l.ended)
		var verifying sync.WaitGroup
		defer verifying.Wait()
		defer cancel()
		if s.options.VerifyInterval > 0 {
			verifying.Go(func() { l.verify(ctx) })
		}
		err := l.live(ctx, l.source.Run)
		switch {
		case err != nil:
			s.fail(&startError{err})
		case s.ctx.Err() == nil:
			s.remove(l)
		}
	})
}

// remove forgets a target that has ended, and looks for others from now on.
func (s *targetSet) remove(l *life) {
	s.mu.Lock()
	delete(s.present, l.key)
	s.left++
	s.mu.Unlock()
	if !l.joined {
		l.note(note{of: l.target, what: left})
	}
	if !l.unasked.Load() {
		s.startFollowing()
	}
}

// recheck renews all watches.
func (s *targetSet) recheck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.present {
		l.source.Recheck()
	}
}

func (s *targetSet) startFollowing() {
	s.follow.Do(func() { s.running.Go(s.followServer) })
}

// look compares what is watched with what the server has. The watches of what it does not have
// are renewed, which shows: it may be that it does not know yet. It reports false if there has to
// be another look.
func (s *targetSet) look() bool {
	s.mu.Lock()
	left := s.left
	s.mu.Unlock()
	found, err := s.options.Resolver.Resolve(s.ctx)
	if err != nil {
		return true // the follower looks again
	}
	fresh, outside, ok := s.compare(found, left)
	if !ok {
		return false
	}
	for _, l := range outside {
		s.drop(l, found)
	}
	for _, t := range fresh {
		s.add(s.joining(t, found))
	}
	if found.Namespaces != nil {
		s.chosen = chosenOf(found.Namespaces)
	}
	return true
}

// compare returns the targets that are new, and those that are not asked for any more. What was found before another target left, as the
// number of those that have left shows, is older than that.
func (s *targetSet) compare(found event.Resolution, left int) (fresh []event.Target, outside []*life, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left != s.left {
		return nil, nil, false
	}
	s.lingers = false
	for _, t := range found.Targets {
		if s.present[t.Key()] == nil {
			fresh = append(fresh, t)
		}
	}
	for key, l := range s.present {
		isOutside, exists := found.NamespaceExcluded(key)
		switch {
		case found.IsMissing(key):
			l.source.Recheck()
		case isOutside && (exists || l.target.idle.Load()):
			outside = append(outside, l)
		case isOutside:
			s.lingers = true
		}
	}
	byNamespace(fresh)
	inOrder(outside)
	return fresh, outside, true
}
