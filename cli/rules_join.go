package cli

import (
	"context"
	"slices"
	"time"

	"dwatch/cli/plan"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// join has a rule share a watch that runs, if one has all that it asks for.
func (r *ruleset) join(one *rule) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.watches, func(w *ruleWatch) bool { return w.mayTake(one) })
	if i < 0 {
		return false
	}
	w := r.watches[i]
	w.rules = append(slices.Clone(w.rules), one)
	own := *w.session
	own.scope = scopeOf(w.rules)
	w.session = &own
	w.name()
	one.starts.Store(true)
	w.fan.Add(one.branch, func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
		defer one.starts.Store(false)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return r.watchAlone(ctx, one, untilKnown(targets, sink, cancel), targets, past)
	})
	return true
}

// mayTake reports whether a rule may share the watch from now on: it has synced all that the rule asks for.
func (w *ruleWatch) mayTake(one *rule) bool {
	return w.suits(one) && w.links != nil && !slices.ContainsFunc(one.plan.Targets, func(t event.Target) bool {
		link := w.links.Get(t)
		return link.Phase() != event.PhaseLive || link.Relisting || link.Target.Resource() != t.Resource()
	})
}

// suits reports whether the watch is of all that a rule asks for, and gives it what it needs.
func (w *ruleWatch) suits(one *rule) bool {
	beat := beatOf([]*rule{one})
	switch {
	case !w.fixed || w.key != one.shareKey() || one.plan.IsDynamic():
		return false
	case one.managed && !w.managed, beat > 0 && (w.beat == 0 || w.beat > beat):
		return false
	}
	return !slices.ContainsFunc(one.plan.Targets, func(t event.Target) bool { return !hasTarget(w.targets, t.Key()) })
}

// joinWait is how long a rule waits for a watch that it may share when that is live: one of its own would stay beside it.
const joinWait = 10 * time.Second

// awaits reports whether a rule has to wait for a watch to share.
func (r *ruleset) awaits(one *rule) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	isSuited := slices.ContainsFunc(r.watches, func(w *ruleWatch) bool { return w.suits(one) })
	return isSuited && !slices.ContainsFunc(r.watches, func(w *ruleWatch) bool { return w.mayTake(one) }) && time.Since(one.began) < joinWait
}

// untilKnown is a Sink before next that calls done when it is known of all targets what there is, or that it is not to be seen.
func untilKnown(targets []event.Target, next event.Sink, done func()) event.Sink {
	links := event.NewWatchStates(targets)
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for i := range batch {
			links.Observe(&batch[i])
		}
		err := next.Deliver(ctx, batch)
		if links.Count(event.PhaseConnecting)+links.Count(event.PhaseLost) == 0 {
			done()
		}
		return err
	})
}

// letGo ends a rule as the end of the run does, and its watch where nobody else needs it. lingers: what waits for its receiver is
// delivered as long as the process lives.
func (r *ruleset) letGo(one *rule, lingers bool) {
	one.leaves.Store(true)
	one.delivery().lingers.Store(lingers)
	r.mu.Lock()
	r.rules = slices.DeleteFunc(slices.Clone(r.rules), func(o *rule) bool { return o == one })
	r.mu.Unlock()
	r.stopIdle(one)
	r.mu.Lock()
	for _, w := range r.watches {
		if w.fan != nil && slices.Contains(w.rules, one) {
			w.fan.Remove(one.branch)
			w.without(one)
		}
	}
	r.mu.Unlock()
	one.stop()
	r.measure(r.rules)
}

// stopIdle ends the watches that a rule has shared and nobody gets anything of any more.
func (r *ruleset) stopIdle(one *rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches = slices.DeleteFunc(slices.Clone(r.watches), func(w *ruleWatch) bool {
		isIdle := w.fan != nil && slices.Contains(w.rules, one) && !slices.ContainsFunc(w.rules, w.has)
		if isIdle {
			delete(r.refusals, w)
			for _, o := range w.rules {
				w.fan.Remove(o.branch)
			}
			w.stop()
		}
		return isIdle
	})
}

// without has the watch go on for the other rules. What only this one asks for is watched until dropUnasked: another one may be
// about to take its place.
func (w *ruleWatch) without(one *rule) {
	w.rules = slices.DeleteFunc(slices.Clone(w.rules), func(o *rule) bool { return o == one })
	if w.fixed {
		w.left = append(slices.Clone(w.left), one)
	}
	w.name()
}

// dropUnasked has the watches end what only rules have asked for that were let go.
func (r *ruleset) dropUnasked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.watches {
		if len(w.left) == 0 {
			continue
		}
		asked, before := targetsOf(w.rules), len(w.targets)
		w.targets = slices.DeleteFunc(slices.Clone(w.targets), func(t event.Target) bool { return !hasTarget(asked, t.Key()) })
		own := *w.session
		own.scope, own.plan = scopeOf(w.rules), &plan.Plan{Targets: w.targets}
		w.session, w.left = &own, nil
		if len(w.targets) < before {
			w.narrows = true
			source.Signal(w.drop)
		}
		w.name()
	}
}

// hasLeft notes that what nobody asks for has ended, and that this was said, of no rule.
func (w *ruleWatch) hasLeft() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.narrows = slices.ContainsFunc(w.links.All(), func(l *event.WatchState) bool { return !hasTarget(w.targets, l.Target.Key()) })
	w.name()
}
