package cli

import (
	"context"
	"slices"

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
	w.fan.Add(one.branch, func(ctx context.Context, sink event.Sink, targets []event.Target, past event.Past) error {
		defer one.starts.Store(false)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return r.watchAlone(ctx, one, untilKnown(targets, sink, cancel), targets, past)
	})
	return true
}

// mayTake reports whether a rule may share the watch from now on: it has synced all that the rule asks for, and gives it what it needs.
func (w *ruleWatch) mayTake(one *rule) bool {
	beat := beatOf([]*rule{one})
	switch {
	case !w.fixed || w.links == nil || w.key != one.shareKey() || one.plan.Follows():
		return false
	case one.needs.managedFields && !w.managed, beat > 0 && (w.beat == 0 || w.beat > beat):
		return false
	}
	return !slices.ContainsFunc(one.plan.Targets, func(t event.Target) bool {
		link := w.links.Of(t)
		return !hasTarget(w.targets, t.Key()) || link.Phase() != event.PhaseLive || link.Relisting || link.Target.Resource() != t.Resource()
	})
}

// untilKnown is a Sink before next that calls done when it is known of all targets what there is, or that it is not to be seen.
func untilKnown(targets []event.Target, next event.Sink, done func()) event.Sink {
	links := event.NewLinks(targets)
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
	var last *ruleWatch
	for _, w := range r.watches {
		if w.fan == nil || !slices.Contains(w.rules, one) {
			continue
		}
		w.fan.Remove(one.branch)
		if len(w.rules) == 1 {
			last = w
			continue
		}
		w.without(one)
	}
	r.mu.Unlock()
	if last != nil {
		r.forget(last)
		last.stop()
	}
	one.stop()
	r.measure(r.rules)
}

// without has the watch go on for the other rules.
func (w *ruleWatch) without(one *rule) {
	w.rules = slices.DeleteFunc(slices.Clone(w.rules), func(o *rule) bool { return o == one })
	w.name()
	if !w.fixed {
		return
	}
	own := *w.session
	w.targets = targetsOf(w.rules)
	own.scope, own.plan = scopeOf(w.rules), &plan.Plan{Targets: w.targets}
	w.session = &own
	source.Signal(w.drop)
}
