package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/share"
	"dwatch/watcher/source"
)

// ruleWatch is what some rules share: one watch of each of their targets.
type ruleWatch struct {
	set      *ruleset
	session  *session
	rules    []*rule
	targets  []event.Target
	resolver watcher.Resolver
	key      string // what the server is asked for besides the targets
	fan      *share.Fan
	sink     event.Sink // the fan, or the branch of a rule that watches for itself
	past     event.Past // of such a branch
	reporter atomic.Pointer[report.Reporter]
}

// shareKey is the same for rules that may share a watch: they ask for the same of each target, and their targets
// either do not come and go, or do so together. Empty: it shares with none.
func (one *rule) shareKey() string {
	switch s := one.plan.Selection; {
	case one.about != nil || one.whole != nil:
		return ""
	case one.plan.Follows():
		text, err := json.Marshal(s)
		if err != nil {
			panic(err) // it is nothing but texts
		}
		return string(text)
	default:
		return "labels " + s.Labels + " fields " + s.Fields
	}
}

// share puts the rules together that share a watch.
func (r *ruleset) share(c *console) (all []*ruleWatch) {
	for _, one := range r.rules {
		key := one.shareKey()
		i := slices.IndexFunc(all, func(w *ruleWatch) bool { return key != "" && w.key == key && w.agrees(one) })
		if i < 0 {
			i = len(all)
			all = append(all, &ruleWatch{set: r, key: key})
		}
		all[i].rules = append(all[i].rules, one)
		for _, t := range slices.Concat(one.plan.Targets, one.state.orphans(one.plan)) {
			if !all[i].watches(t) {
				all[i].targets = append(all[i].targets, t)
			}
		}
	}
	for _, w := range all {
		w.prepare(c)
	}
	return all
}

func (w *ruleWatch) watches(t event.Target) bool {
	return slices.ContainsFunc(w.targets, func(o event.Target) bool { return o.Key() == t.Key() })
}

// agrees reports whether a rule asks for the same versions, and for nothing that is a part of what the others ask for,
// or the other way round: the one would take the place of the other.
func (w *ruleWatch) agrees(one *rule) bool {
	return !slices.ContainsFunc(one.plan.Targets, func(t event.Target) bool {
		return slices.ContainsFunc(w.targets, func(o event.Target) bool {
			return o.Key() == t.Key() && o.Resource() != t.Resource() || o.Key().Covers(t.Key()) || t.Key().Covers(o.Key())
		})
	})
}

func (w *ruleWatch) prepare(c *console) {
	first := w.rules[0].session
	w.session, w.resolver = first, first.planner
	var branches []*share.Branch
	for _, one := range w.rules {
		branches = append(branches, one.branch)
	}
	if len(w.rules) > 1 {
		own := *first
		own.console, own.scope = c, w.scope()
		w.session = &own
		if !first.plan.Follows() {
			own.plan = &plan.Plan{Targets: w.targets}
			w.resolver = resolvers(w.rules)
		}
	}
	w.fan = share.New(branches...)
	w.sink = w.fan
}

// scope is where something is watched for any of the rules.
func (w *ruleWatch) scope() plan.Request {
	scope := w.rules[0].scope
	scope.Namespaces = nil
	for _, one := range w.rules {
		if scope.AllNamespaces = scope.AllNamespaces || one.scope.AllNamespaces; one.scope.AllNamespaces {
			continue
		}
		for _, n := range one.scope.Namespaces {
			if !slices.Contains(scope.Namespaces, n) {
				scope.Namespaces = append(scope.Namespaces, n)
			}
		}
	}
	return scope
}

// resolvers find what any of some rules names.
type resolvers []*rule

// Resolve implements watcher.Resolver.
func (all resolvers) Resolve(ctx context.Context) (found event.Found, err error) {
	for _, one := range all {
		more, err := one.planner.Resolve(ctx)
		if err != nil {
			return event.Found{}, err
		}
		for _, t := range more.Targets {
			if _, known := found.Find(t.Key()); !known {
				found.Targets = append(found.Targets, t)
			}
		}
		found.Unsure = append(found.Unsure, more.Unsure...)
	}
	return found, nil
}

// run watches until ctx ends. What the server refuses at first is tried again, unless it refuses all, or does not
// understand it: then none of it has been told.
func (w *ruleWatch) run(ctx context.Context) error {
	var backoff source.Backoff
	said := ""
	for {
		err := w.watch(ctx)
		switch {
		case err == nil || ctx.Err() != nil && !isLoss(err):
			return nil
		case isLoss(err):
			return err
		case isNonsense(err):
			return w.named(err)
		}
		if all := w.set.refused(w, err); all != nil {
			return all
		}
		if why := strings.Join(fail.Explain(err), "; "); why != said {
			said = why
			w.session.warn(why + "; trying again")
		}
		if err := w.sink.Deliver(ctx, []event.Event{{Type: event.Heartbeat, Time: time.Now()}}); err != nil { // it is no sign of a run that hangs
			return sinkError{err}
		}
		if !backoff.Wait(ctx, err) {
			return nil
		}
	}
}

// isNonsense reports whether the server says that a request makes no sense, and never will: it may have served
// others of the same watch meanwhile, which is over.
func isNonsense(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }

// named says which rules an error of a target is about.
func (w *ruleWatch) named(err error) error {
	of, isOfTarget := errors.AsType[*event.TargetError](err)
	var all []error
	for _, one := range w.rules {
		if !isOfTarget || one.branch.Gets(of.Target) {
			all = append(all, errorOf("rule "+one.Name, err))
		}
	}
	return errors.Join(all...)
}

// refused notes that the server has refused a watch at first, and returns an error if it has all of them.
func (r *ruleset) refused(w *ruleWatch, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusals[w] = err
	var all []error
	for _, w := range r.watches {
		all = append(all, r.refusals[w])
	}
	if slices.Contains(all, nil) {
		return nil
	}
	return errors.Join(all...)
}

// answered has the server not have refused a watch any more, with the first batch of what it has.
func (w *ruleWatch) answered(next event.Sink) event.Sink {
	known := false
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if !known && slices.ContainsFunc(batch, func(e event.Event) bool { return e.Type == event.Synced || !e.Type.IsMark() }) {
			known = true
			w.set.mu.Lock()
			delete(w.set.refusals, w)
			w.set.mu.Unlock()
		}
		return next.Deliver(ctx, batch)
	})
}

// watch is one try.
func (w *ruleWatch) watch(ctx context.Context) error {
	watch, err := watcher.New(w.options())
	if err != nil {
		return err
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	s := w.session
	reporter := report.New(w.sink, reporting(s, nil))
	if w.reporter.Swap(reporter) == nil {
		reporter.Begin(w.targets, s.about.note())
	} else {
		reporter.Know(w.targets)
	}
	if slices.ContainsFunc(w.targets, event.Target.Namespaced) {
		reporter.CheckNamespaces(asking, w.scope().Namespaces)
	}
	if w.rules[0].about != nil { // and it is the only one
		s.about.check(asking, s, w.rules[0].selection, reporter)
	}
	err = watch.Run(asking, w.answered(blamed(&tuned{next: s.about.before(reporter)})))
	stop() // nobody waits for an answer any more
	reporter.Wait()
	return s.rights.Detail(ctx, err)
}

func (w *ruleWatch) options() watcher.Options {
	o := w.session.watched()
	o.Targets, o.Resolver, o.Past, o.Began = w.targets, w.resolver, w.past, w.set.began
	o.Follow = o.Follow || len(w.targets) < len(w.session.plan.Targets) // some have gone, and may come again
	o.ManagedFields = w.set.keepsManagedFields()
	for _, one := range w.rules {
		for _, beat := range []time.Duration{one.beatEvery(), one.metrics.Interval()} {
			if beat > 0 && (o.Heartbeat == 0 || beat < o.Heartbeat) {
				o.Heartbeat = beat
			}
		}
	}
	if w.set.verify > 0 {
		say := sayVerified(w.session, nil)
		o.Verify = w.set.verify
		o.Verified = func(v watcher.Verification) {
			say(v)
			w.countVerified(v)
		}
	}
	return o
}

// countVerified counts what came of a verification for the rules that it is about.
func (w *ruleWatch) countVerified(v watcher.Verification) {
	for _, one := range w.rules {
		if one.branch.Gets(v.Target) && w.has(one) {
			one.metrics.Verified(v.Target, len(v.Missed), v.Err == nil)
		}
	}
}

// watchAlone watches for one rule, into sink, and goes on from what it was told.
func (r *ruleset) watchAlone(ctx context.Context, one *rule, sink event.Sink, targets []event.Target, past event.Past) error {
	w := &ruleWatch{set: r, session: one.session, rules: []*rule{one}, targets: targets, resolver: one.planner, sink: sink, past: past}
	r.mu.Lock()
	r.watches = append(slices.Clone(r.watches), w)
	r.mu.Unlock()
	return w.run(ctx)
}

// has reports whether a rule gets what is watched: none that was let go does.
func (w *ruleWatch) has(one *rule) bool { return w.fan == nil || one.branch.IsShared() }

func (w *ruleWatch) status() string {
	var names []string
	for _, one := range w.rules {
		if w.has(one) {
			names = append(names, one.Name)
		}
	}
	of := cmp.Or(strings.Join(names, ", "), "nothing")
	if reporter := w.reporter.Load(); reporter != nil {
		return of + ": " + reporter.Status()
	}
	return of + ": connecting"
}
