package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/cli/run"
	"dwatch/watcher"
	"dwatch/watcher/broadcast"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// sharedWatch is one watch of the targets of some rules. Rules leave it, and never join it.
type sharedWatch struct {
	run.SharedWatch
	set         *Supervisor
	broadcaster *broadcast.Broadcaster // nil if it is the watch of a detached subscriber
	sink        event.Sink             // the broadcaster, or the subscriber
	history     event.HistoryFunc      // of a detached subscriber
	isFixed     bool                   // its targets do not come and go
	isLate      bool                   // it was started while others ran, and does not end the process
	shrunk      chan struct{}          // signals that some targets are no longer requested
	stop        context.CancelFunc

	rules   []*activeRule  // guarded by set.mu; never changed in place
	targets []event.Target // guarded by set.mu; never changed in place
}

// group puts rules together that may share a watch.
func group(rules []*activeRule) (groups [][]*activeRule) {
	for _, r := range rules {
		key := r.shareKey()
		i := slices.IndexFunc(groups, func(g []*activeRule) bool { return key != "" && g[0].shareKey() == key && agrees(g, r) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// shareKey is equal for rules that may share a watch: they ask the server for the same of each target, and their targets do not come
// and go, or do so together. It is empty for a rule that shares with none.
func (r *activeRule) shareKey() string {
	switch s := r.session.Plan.Selection; {
	case r.session.HasSubject():
		return ""
	case r.session.Plan.IsDynamic():
		text, err := json.Marshal(s)
		if err != nil {
			panic(err) // strings always encode
		}
		return string(text)
	default:
		return "labels " + s.Labels + " fields " + s.Fields
	}
}

// agrees reports whether a rule asks for the same versions as a group, and for no target that covers one of the group or is covered by it.
func agrees(group []*activeRule, r *activeRule) bool {
	return !slices.ContainsFunc(r.session.Plan.Targets, func(t event.Target) bool {
		return slices.ContainsFunc(group, func(o *activeRule) bool {
			return slices.ContainsFunc(o.session.Plan.Targets, func(o event.Target) bool {
				return o.Key() == t.Key() && o.Resource() != t.Resource() || o.Key().Covers(t.Key()) || t.Key().Covers(o.Key())
			})
		})
	})
}

// shareManagedFields makes all rules of a group know that they get the managed fields, if one needs them.
func shareManagedFields(group []*activeRule) {
	if slices.ContainsFunc(group, func(r *activeRule) bool { return r.run.NeedsManagedFields() }) {
		for _, r := range group {
			r.run.GetsManagedFields()
		}
	}
}

// newWatch returns the watch of rules whose stages are made.
func (s *Supervisor) newWatch(rules []*activeRule) *sharedWatch {
	first := rules[0]
	w := &sharedWatch{set: s, rules: rules, targets: targetsOf(rules), shrunk: make(chan struct{}, 1), isLate: s.started}
	own := *first.session
	own.Console = s.console.ForRule("")
	if len(rules) == 1 {
		own.Console.SetRule(first.Name)
	}
	own.Request = requestOf(rules)
	if w.isFixed = first.shareKey() != "" && !own.Plan.IsDynamic(); w.isFixed {
		own.Plan = &plan.Plan{Targets: w.targets}
	}
	w.SharedWatch.Session, w.Selection, w.Namespaces = &own, first.Config.Selection, own.Request.Namespaces
	var subs []*broadcast.Subscriber
	for _, r := range rules {
		subs = append(subs, r.sub)
	}
	w.broadcaster = broadcast.New(subs...)
	w.sink = w.broadcaster
	return w
}

func targetsOf(rules []*activeRule) (all []event.Target) {
	for _, r := range rules {
		for _, t := range r.asked {
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

// requestOf is a request for the namespaces of all rules.
func requestOf(rules []*activeRule) plan.Request {
	request := rules[0].session.Request
	request.Namespaces = nil
	for _, r := range rules {
		if request.AllNamespaces = request.AllNamespaces || r.session.Request.AllNamespaces; r.session.Request.AllNamespaces {
			continue
		}
		for _, n := range r.session.Request.Namespaces {
			if !slices.Contains(request.Namespaces, n) {
				request.Namespaces = append(request.Namespaces, n)
			}
		}
	}
	return request
}

// heartbeatOf is the shortest interval at which one of the rules needs a heartbeat. Zero means never.
func heartbeatOf(rules []*activeRule) (least time.Duration) {
	for _, r := range rules {
		for _, every := range []time.Duration{r.run.Config().HeartbeatEvery(), r.run.Metrics().HeartbeatInterval()} {
			if every > 0 && (least == 0 || every < least) {
				least = every
			}
		}
	}
	return least
}

// now returns the rules and the targets at present.
func (w *sharedWatch) now() ([]*activeRule, []event.Target) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return w.rules, w.targets
}

// Resolve implements watcher.Resolver: it finds what any of the rules names.
func (w *sharedWatch) Resolve(ctx context.Context) (found event.Resolution, err error) {
	rules, _ := w.now()
	for _, r := range rules {
		more, err := r.session.Planner.Resolve(ctx)
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

func (w *sharedWatch) isAsked(key event.Key) bool {
	_, targets := w.now()
	return hasTarget(targets, key)
}

// start runs the watch in a goroutine.
func (w *sharedWatch) start(ctx context.Context) {
	ctx, w.stop = context.WithCancel(ctx)
	w.set.running.Go(func() {
		defer w.stop()
		defer w.broadcaster.Close()
		if err := w.run(ctx); err != nil {
			w.set.end(err)
		}
	})
}

// run watches again and again until ctx ends or events are lost. A watch that the server refuses when it starts is tried again. At the
// start of the process, it is not tried again if the server refuses all watches or calls the request malformed: nothing has been
// delivered yet, so run returns the error.
func (w *sharedWatch) run(ctx context.Context) error {
	var backoff source.Backoff
	reported := ""
	for {
		rules, targets := w.now()
		err := w.SharedWatch.Run(ctx, w.options(rules, targets), w.observe, w.sink)
		rules, _ = w.now()
		switch {
		case err == nil || ctx.Err() != nil && !run.IsLoss(err):
			return nil
		case run.IsLoss(err):
			return err
		case w.isLate:
			if len(rules) > 1 {
				err = nameRules(rules, err)
			}
		case isMalformed(err):
			return nameRules(rules, err)
		default:
			if all := w.set.refused(w, err); all != nil {
				return all
			}
		}
		if why := strings.Join(fail.Explain(err), "; "); why != reported {
			reported = why
			w.Session.Console.Warn(why + "; trying again")
		}
		// A heartbeat shows that the run does not hang.
		if err := w.sink.Deliver(ctx, []event.Event{{Type: event.Heartbeat, Time: time.Now()}}); err != nil {
			return run.LossError{Err: err}
		}
		if !backoff.Wait(ctx, err) {
			return nil
		}
	}
}

// isMalformed reports whether the server will never accept a request.
func isMalformed(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }

// nameRules says which rules the error of a target is about.
func nameRules(rules []*activeRule, err error) error {
	of, isOfTarget := errors.AsType[*event.TargetError](err)
	var all []error
	for _, r := range rules {
		if !isOfTarget || r.sub.Receives(of.Target) {
			all = append(all, run.PrefixError("rule "+r.Name, err))
		}
	}
	return errors.Join(all...)
}

// options are the options of the watcher.
func (w *sharedWatch) options(rules []*activeRule, targets []event.Target) watcher.Options {
	s := w.Session
	o := s.WatchOptions()
	o.Targets, o.History, o.StartTime = targets, w.history, rules[0].began
	o.Follow = o.Follow || len(targets) < len(s.Plan.Targets) // some are gone, and may come again
	o.KeepManagedFields = slices.ContainsFunc(rules, func(r *activeRule) bool { return r.run.NeedsManagedFields() })
	o.HeartbeatInterval = heartbeatOf(rules)
	if w.isFixed {
		o.Resolver, o.RequestsChanged, o.IsRequested = w, w.shrunk, w.isAsked
	}
	if w.set.Verify > 0 {
		o.VerifyInterval = w.set.Verify
		o.OnVerified = func(v watcher.Verification) {
			s.SayVerification(v)
			w.countVerification(v)
		}
	}
	return o
}

// countVerification counts a result of --verify for the rules that it is about.
func (w *sharedWatch) countVerification(v watcher.Verification) {
	rules, _ := w.now()
	for _, r := range rules {
		if r.sub.Receives(v.Target) && w.has(r) {
			r.run.Metrics().RecordVerification(v.Target, len(v.Missed), v.Err == nil)
		}
	}
}

// observe forgets that the server refused the watch, once it answers.
func (w *sharedWatch) observe(batch []event.Event) {
	isAnswer := func(e event.Event) bool { return !e.Type.IsStatus() || e.Type == event.Synced }
	if slices.ContainsFunc(batch, isAnswer) {
		w.set.mu.Lock()
		defer w.set.mu.Unlock()
		delete(w.set.refusals, w)
	}
}

// refused notes that the server refuses a watch, and returns an error if it refuses all of them.
func (s *Supervisor) refused(w *sharedWatch, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[w] = err
	var all []error
	for _, w := range s.watches {
		all = append(all, s.refusals[w])
	}
	if slices.Contains(all, nil) {
		return nil
	}
	return errors.Join(all...)
}

func (s *Supervisor) removeWatch(w *sharedWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refusals, w)
	s.watches = slices.DeleteFunc(slices.Clone(s.watches), func(o *sharedWatch) bool { return o == w })
}

// has reports whether a rule gets the events of the watch.
func (w *sharedWatch) has(r *activeRule) bool {
	return w.broadcaster == nil || r.sub.IsAttached() && !r.leaves.Load()
}

// unsubscribe removes a rule from the watches that it shares, and stops watching what only this rule asked for.
func (s *Supervisor) unsubscribe(r *activeRule) {
	s.stopIdleWatches()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if w.broadcaster == nil || !slices.Contains(w.rules, r) {
			continue
		}
		w.broadcaster.Remove(r.sub)
		w.rules = slices.DeleteFunc(slices.Clone(w.rules), func(o *activeRule) bool { return o == r })
		if !w.isFixed {
			continue
		}
		asked := targetsOf(w.rules)
		if targets := slices.DeleteFunc(slices.Clone(w.targets), func(t event.Target) bool { return !hasTarget(asked, t.Key()) }); len(targets) < len(w.targets) {
			w.targets = targets
			source.Signal(w.shrunk)
		}
	}
}

// stopIdleWatches stops the watches without subscribers.
func (s *Supervisor) stopIdleWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = slices.DeleteFunc(slices.Clone(s.watches), func(w *sharedWatch) bool {
		isIdle := w.broadcaster != nil && !slices.ContainsFunc(w.rules, w.has)
		if isIdle {
			delete(s.refusals, w)
			for _, r := range w.rules {
				w.broadcaster.Remove(r.sub)
			}
			w.stop()
		}
		return isIdle
	})
}

func (w *sharedWatch) statusLocked() string {
	var names []string
	for _, r := range w.rules {
		if w.has(r) {
			names = append(names, r.Name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "nothing") + ": " + w.Status()
}
