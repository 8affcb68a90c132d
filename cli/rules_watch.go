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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/watcher"
	"dwatch/watcher/broadcast"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// ruleWatch is what some rules share: one watch of each of their targets.
type ruleWatch struct {
	set      *ruleset
	resolver watcher.Resolver
	key      string // what the server is asked for besides the targets
	fan      *broadcast.Broadcaster
	sink     event.Sink        // the fan, or the branch of a rule that watches for itself
	past     event.HistoryFunc // of such a branch
	began    time.Time
	beat     time.Duration // how often there is a heartbeat
	managed  bool          // it has the managed fields
	fixed    bool          // its targets are those of its rules, as long as these are there
	late     bool          // it came while others ran, and does not end them
	is       func(rule string)
	drop     chan struct{} // has a signal when there are fewer targets
	stop     context.CancelFunc
	reporter atomic.Pointer[report.Reporter]

	// Of set.mu; the slices, and the session, are never changed in place.
	session *session
	rules   []*rule
	left    []*rule // let go, and what they asked for is watched yet
	targets []event.Target
	narrows bool // it is yet to be said what of them is not watched any more
	links   *event.WatchStates
}

// shareKey is the same for rules that may share a watch: they ask for the same of each target, and their targets
// either do not come and go, or do so together. Empty: it shares with none.
func (one *rule) shareKey() string {
	switch s := one.plan.Selection; {
	case one.about != nil || one.whole != nil:
		return ""
	case one.plan.IsDynamic():
		text, err := json.Marshal(s)
		if err != nil {
			panic(err) // it is nothing but texts
		}
		return string(text)
	default:
		return "labels " + s.Labels + " fields " + s.Fields
	}
}

// share puts rules together that share a watch, and returns the new ones. late: others run, and those that have what is asked for
// take more.
func (r *ruleset) share(c *console, rules []*rule, late bool) (all []*ruleWatch) {
	for _, one := range rules {
		if r.join(one) {
			continue
		}
		key := one.shareKey()
		i := slices.IndexFunc(all, func(w *ruleWatch) bool { return key != "" && w.key == key && w.agrees(one) })
		if i < 0 {
			i = len(all)
			all = append(all, &ruleWatch{set: r, key: key, late: late})
		}
		all[i].rules = append(all[i].rules, one)
	}
	for _, w := range all {
		w.managed = wantManaged(rules)
		w.prepare(c)
	}
	return all
}

// targetsOf are those of rules.
func targetsOf(rules []*rule) (all []event.Target) {
	for _, one := range rules {
		for _, t := range slices.Concat(one.plan.Targets, one.state.orphans(one.plan)) {
			if !hasTarget(all, t.Key()) {
				all = append(all, t)
			}
		}
	}
	return all
}

func hasTarget(all []event.Target, key event.Key) bool {
	return slices.ContainsFunc(all, func(t event.Target) bool { return t.Key() == key })
}

// agrees reports whether a rule asks for the same versions, and for nothing that is a part of what the others ask for,
// or the other way round: the one would take the place of the other.
func (w *ruleWatch) agrees(one *rule) bool {
	return !slices.ContainsFunc(one.plan.Targets, func(t event.Target) bool {
		return slices.ContainsFunc(slices.Concat(w.targets, targetsOf(w.rules)), func(o event.Target) bool {
			return o.Key() == t.Key() && o.Resource() != t.Resource() || o.Key().Covers(t.Key()) || t.Key().Covers(o.Key())
		})
	})
}

func (w *ruleWatch) prepare(c *console) {
	first := w.rules[0].session
	w.targets, w.began, w.drop = targetsOf(w.rules), w.rules[0].began, make(chan struct{}, 1)
	w.beat = beatOf(w.rules)
	own := *first
	own.console, w.is = c.ofRules()
	own.scope = scopeOf(w.rules)
	w.session, w.resolver = &own, first.planner
	if w.fixed = w.key != "" && !first.plan.IsDynamic(); w.fixed {
		own.plan = &plan.Plan{Targets: w.targets}
		w.resolver = resolvers{w}
	}
	w.name()
	var branches []*broadcast.Subscriber
	for _, one := range w.rules {
		branches = append(branches, one.branch)
	}
	w.fan = broadcast.New(branches...)
	w.sink = w.fan
}

// name has its messages say of which rule they are, if it is one.
func (w *ruleWatch) name() {
	if len(w.rules) == 1 && len(w.left) == 0 && !w.narrows {
		w.is(w.rules[0].Name)
	} else {
		w.is("")
	}
}

// beatOf is how often rules want a heartbeat; 0: never.
func beatOf(rules []*rule) (least time.Duration) {
	for _, one := range rules {
		for _, beat := range []time.Duration{one.beatEvery(), one.metrics.HeartbeatInterval()} {
			if beat > 0 && (least == 0 || beat < least) {
				least = beat
			}
		}
	}
	return least
}

// scopeOf is where something is watched for any of some rules.
func scopeOf(rules []*rule) plan.Request {
	scope := rules[0].scope
	scope.Namespaces = nil
	for _, one := range rules {
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

// resolvers find what any of the rules of a watch names.
type resolvers struct{ *ruleWatch }

// Resolve implements watcher.Resolver.
func (w resolvers) Resolve(ctx context.Context) (found event.Resolution, err error) {
	for _, one := range w.planned() {
		more, err := one.planner.Resolve(ctx)
		if err != nil {
			return event.Resolution{}, err
		}
		for _, t := range more.Targets {
			if _, known := found.Find(t.Key()); !known {
				found.Targets = append(found.Targets, t)
			}
		}
		found.FailedGroups = append(found.FailedGroups, more.FailedGroups...)
	}
	return found, nil
}

// now are its rules and targets, and its session.
func (w *ruleWatch) now() ([]*rule, []event.Target, *session) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return w.rules, w.targets, w.session
}

// planned are the rules of which anything is watched.
func (w *ruleWatch) planned() []*rule {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return slices.Concat(w.rules, w.left)
}

// asks reports whether a target is asked for.
func (w *ruleWatch) asks(key event.Key) bool {
	_, targets, _ := w.now()
	return hasTarget(targets, key)
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
		case w.late: // the others go on
			if rules, _, _ := w.now(); len(rules) > 1 {
				err = w.named(err)
			}
		case isNonsense(err):
			return w.named(err)
		default:
			if all := w.set.refused(w, err); all != nil {
				return all
			}
		}
		if why := strings.Join(fail.Explain(err), "; "); why != said {
			said = why
			_, _, s := w.now()
			s.warn(why + "; trying again")
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

// checkAsked returns an error, of usage, if the server says that what a rule asks for makes no sense. What else it may
// answer the watch finds out.
func (one *rule) checkAsked(ctx context.Context) error {
	s := one.plan.Selection
	if s.Fields == "" { // labels are checked before
		return nil
	}
	objects, err := metadata.NewForConfigAndClient(one.QuietConfig(), one.HTTP)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askedWait)
	defer cancel()
	asked := map[event.Key]bool{}
	for _, t := range one.plan.Targets {
		of := t
		of.Name = ""
		if asked[of.Key()] {
			continue
		}
		asked[of.Key()] = true
		_, err := objects.Resource(t.Resource()).Namespace(t.Namespace).List(ctx, metav1.ListOptions{FieldSelector: s.Fields, Limit: 1})
		if err != nil && isNonsense(err) {
			return fail.Usage(&event.TargetError{Target: t, Err: err})
		}
	}
	return nil
}

// askedWait is how long the server may take to say that it does not understand what a rule asks for.
const askedWait = 10 * time.Second

// named says which rules an error of a target is about.
func (w *ruleWatch) named(err error) error {
	of, isOfTarget := errors.AsType[*event.TargetError](err)
	var all []error
	rules, _, _ := w.now()
	for _, one := range rules {
		if !isOfTarget || one.branch.Receives(of.Target) {
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

// answered has the server not have refused a watch any more, with the first batch of what it has; and how its targets are known.
func (w *ruleWatch) answered(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		left := w.observe(batch)
		err := next.Deliver(ctx, batch)
		if left && w.fixed {
			w.hasLeft()
		}
		return err
	})
}

// observe reports whether anything has left.
func (w *ruleWatch) observe(batch []event.Event) (left bool) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	for i := range batch {
		e := &batch[i]
		if !e.Type.IsStatus() || e.Type == event.Synced {
			delete(w.set.refusals, w)
		}
		if w.links != nil {
			w.links.Observe(e)
		}
		left = left || e.Type == event.Left
	}
	return left
}

// watch is one try.
func (w *ruleWatch) watch(ctx context.Context) error {
	rules, targets, s := w.now()
	watch, err := watcher.New(w.options(targets, s))
	if err != nil {
		return err
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	reporter := report.New(w.sink, reporting(s, nil))
	if w.reporter.Swap(reporter) == nil {
		reporter.AnnounceTargets(targets, s.about.note()+sharding(ctx, s))
	} else {
		reporter.SetTargets(targets)
	}
	if slices.ContainsFunc(targets, event.Target.Namespaced) {
		reporter.ReportMissingNamespaces(asking, scopeOf(rules).Namespaces)
	}
	if rules[0].about != nil { // and it is the only one
		s.about.check(asking, s, rules[0].selection, reporter)
	}
	w.set.mu.Lock()
	w.links = event.NewWatchStates(targets)
	if w.fixed {
		w.narrows = len(w.targets) < len(targets) // meanwhile
		w.name()
	}
	w.set.mu.Unlock()
	err = watch.Run(asking, w.answered(blamed(&tuned{next: s.about.before(reporter)})))
	stop() // nobody waits for an answer any more
	reporter.Wait()
	return s.rights.DescribeDenials(ctx, err)
}

func (w *ruleWatch) options(targets []event.Target, s *session) watcher.Options {
	o := s.watched()
	o.Targets, o.Resolver, o.History, o.StartTime = targets, w.resolver, w.past, w.began
	o.Follow = o.Follow || len(targets) < len(s.plan.Targets) // some have gone, and may come again
	o.KeepManagedFields, o.HeartbeatInterval = w.managed, w.beat
	if w.fixed {
		o.RequestsChanged, o.IsRequested = w.drop, w.asks
	}
	if w.set.verify > 0 {
		say := sayVerified(s, nil)
		o.VerifyInterval = w.set.verify
		o.OnVerified = func(v watcher.Verification) {
			say(v)
			w.countVerified(v)
		}
	}
	return o
}

// countVerified counts what came of a verification for the rules that it is about.
func (w *ruleWatch) countVerified(v watcher.Verification) {
	rules, _, _ := w.now()
	for _, one := range rules {
		if one.branch.Receives(v.Target) && w.has(one) {
			one.metrics.RecordVerification(v.Target, len(v.Missed), v.Err == nil)
		}
	}
}

// watchAlone watches for one rule, into sink, and goes on from what it was told.
func (r *ruleset) watchAlone(ctx context.Context, one *rule, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
	w := &ruleWatch{
		set: r, session: one.session, rules: []*rule{one}, targets: targets, resolver: one.planner, sink: sink, past: past,
		began: one.began, beat: beatOf([]*rule{one}), managed: one.needs.managedFields, late: true,
	}
	r.mu.Lock()
	r.watches = append(slices.Clone(r.watches), w)
	r.mu.Unlock()
	defer r.forget(w)
	return w.run(ctx)
}

func (r *ruleset) forget(w *ruleWatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.refusals, w)
	r.watches = slices.DeleteFunc(slices.Clone(r.watches), func(o *ruleWatch) bool { return o == w })
}

// has reports whether a rule gets what is watched: none that was let go does.
func (w *ruleWatch) has(one *rule) bool {
	return w.fan == nil || one.branch.IsAttached() && !one.leaves.Load()
}

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
