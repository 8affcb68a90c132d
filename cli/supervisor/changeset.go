package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"dwatch/cli/fail"
	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// changeset is how the rules of a file differ from the running ones. The start is a changeset that adds all rules.
//
// It is applied in three steps. prepare needs no server. begin asks the server and makes the stages of new rules. If one of them fails, it
// is undone. apply removes rules and starts the others.
type changeset struct {
	kept, removed []*activeRule
	added         []*activeRule // new and changed rules
}

// compare returns the changeset from the rules that run to all.
func (r *reloader) compare(all []*Rule) *changeset {
	c := &changeset{}
	running := map[string]*activeRule{}
	for _, one := range r.set.rules {
		running[one.Name] = one
	}
	for _, rule := range all {
		old := running[rule.Name]
		delete(running, rule.Name)
		if old != nil && old.Equal(rule.Rule) {
			c.kept = append(c.kept, old)
			continue
		}
		one := newActiveRule(rule, r.set)
		one.replaces = old != nil
		if old == nil && r.set.StateDir != "" { // a rule that was removed may still have the file open
			old = r.leaving[rule.Name]
		}
		if one.predecessor = old; old != nil && old.waits.Load() {
			one.predecessor, one.skipped = old.predecessor, old
		}
		c.added = append(c.added, one)
	}
	for _, one := range r.set.rules {
		if running[one.Name] != nil {
			c.removed = append(c.removed, one)
		}
	}
	return c
}

// String says what becomes of the rules.
func (c *changeset) String() string {
	var added, changed []*activeRule
	for _, r := range c.added {
		if r.replaces {
			changed = append(changed, r)
		} else {
			added = append(added, r)
		}
	}
	var parts []string
	for _, part := range []struct {
		what  string
		rules []*activeRule
	}{{"new", added}, {"changed", changed}, {"removed", c.removed}} {
		if len(part.rules) > 0 {
			parts = append(parts, part.what+": "+namesOf(part.rules))
		}
	}
	if parts == nil {
		return "no changes"
	}
	if len(c.kept) > 0 {
		parts = append(parts, "unchanged: "+namesOf(c.kept))
	}
	return strings.Join(parts, "; ")
}

func namesOf(rules []*activeRule) string {
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// prepare makes the receivers of rules, unless something is wrong with one of them.
func (s *Supervisor) prepare(added []*activeRule) error {
	var rules []*Rule
	for _, r := range added {
		rules = append(rules, r.Rule)
	}
	if !s.standBy {
		if err := CheckReceivers(rules, s.console.WithoutReports()); err != nil {
			return err
		}
	}
	for _, r := range added {
		if err := r.prepare(); err != nil {
			return err
		}
	}
	return nil
}

// errorOf is an error of a rule. If other rules run, it names the line of the rule in the file.
func (s *Supervisor) errorOf(r *activeRule, err error) error {
	where := "rule " + r.Name
	if s.started {
		where = r.Position + ": " + where
	}
	return run.PrefixError(where, err)
}

// begin resolves the names of the added rules and makes the stages of rules without a predecessor. It returns which of them share a
// watch.
func (s *Supervisor) begin(ctx context.Context, c *changeset) (groups [][]*activeRule, err error) {
	var wrong []error
	for _, r := range c.added {
		err := r.open(ctx)
		if err != nil && fail.ExitCode(err) != fail.ExitUsage {
			return nil, err
		}
		wrong = append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if s.StateDir != "" {
		if err := os.MkdirAll(s.StateDir, 0o700); err != nil {
			return nil, stateDirError(err)
		}
	}
	c.warnSharedTopics()
	var fresh []*activeRule
	for _, r := range c.added {
		if r.predecessor == nil {
			fresh = append(fresh, r)
		} else if err := r.checkSuccession(ctx); err != nil {
			return nil, s.errorOf(r, err)
		}
	}
	groups = group(fresh)
	for _, g := range groups {
		shareManagedFields(g)
	}
	return groups, s.beginAll(ctx, fresh)
}

// stateDirError returns the error for a directory that could not be created. A full or broken disk is no usage error, because a restart
// may succeed.
func stateDirError(err error) error {
	if run.IsDiskError(err) {
		return run.StateError(fmt.Errorf("--state: %w", err))
	}
	return fail.Usage(fmt.Errorf("%s: %w", StateUsage, err))
}

// StateUsage says what --state takes with rules.
const StateUsage = "--state takes, with -f, a directory, with a file for each rule"

// warnSharedTopics names rules that send the same objects to one topic of Kafka under the same keys.
func (c *changeset) warnSharedTopics() {
	for i, r := range c.added {
		for _, other := range slices.Concat(c.added[:i], c.kept) {
			if r.overwrites(other) {
				r.console.Say(fmt.Sprintf("it sends the same objects to the topic %s as rule %s, with the same keys: if the topic is compacted, only the last message of either rule remains", r.Receiver.Kafka.Topic, other.Name))
			}
		}
	}
}

// overwrites reports whether two rules may send the same object to one topic.
func (r *activeRule) overwrites(other *activeRule) bool {
	a, b := r.Receiver, other.Receiver
	return a.IsKafka() && b.IsKafka() && a.Kafka.Topic == b.Kafka.Topic &&
		slices.ContainsFunc(a.Kafka.Brokers, func(broker string) bool { return slices.Contains(b.Kafka.Brokers, broker) }) &&
		slices.ContainsFunc(r.session.Plan.Targets, func(t event.Target) bool {
			return slices.ContainsFunc(other.session.Plan.Targets, func(o event.Target) bool {
				return t.Key() == o.Key() || t.Key().Covers(o.Key()) || o.Key().Covers(t.Key())
			})
		})
}

// receiverTimeout is how long the start waits for receivers. Most answer at once, and then a mistake is reported before anything is
// watched.
const receiverTimeout = time.Second

// beginAll makes the stages of rules, all at once: a receiver that does not answer holds up none of the others.
func (s *Supervisor) beginAll(ctx context.Context, rules []*activeRule) error {
	var all, checks sync.WaitGroup
	ends := make([]error, len(rules))
	for i, r := range rules {
		if !s.started && r.receiver != nil {
			r.receiver.Async = s.checkInBackground(ctx, r, &checks)
		}
		all.Go(func() {
			if err := r.begin(ctx); err != nil {
				ends[i] = s.errorOf(r, err)
			}
		})
	}
	all.Wait()
	if s.started {
		return errors.Join(ends...)
	}
	answered := make(chan struct{})
	s.running.Go(func() {
		checks.Wait()
		close(answered)
	})
	await(ctx, answered, receiverTimeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(append(ends, s.failed...)...)
}

// checkInBackground returns a function that checks the receiver of a rule in a goroutine. An error ends the process.
func (s *Supervisor) checkInBackground(ctx context.Context, r *activeRule, checks *sync.WaitGroup) func(func() error) {
	return func(check func() error) {
		checks.Add(1)
		s.running.Go(func() {
			defer checks.Done()
			if err := check(); err != nil && ctx.Err() == nil {
				s.end(run.PrefixError("rule "+r.Name, err))
			}
		})
	}
}

// undo closes what was opened for rules that have not run, and removes the state files that were created for them.
func (s *Supervisor) undo(rules []*activeRule) {
	for _, r := range rules {
		if r.stopDraining != nil || r.run == nil { // it has run, or was not prepared
			continue
		}
		path := r.stateFile()
		if err := r.run.CloseState(nil); err != nil {
			s.console.Warn(err.Error())
		}
		r.run.Close()
		r.run = nil
		if r.newState {
			_ = os.Remove(path) // if that fails, an empty file stays
		}
	}
}

// apply removes rules and starts the others: new ones at once, and a changed one after its predecessor (succeed).
func (s *Supervisor) apply(ctx context.Context, r *reloader, c *changeset, groups [][]*activeRule) {
	for _, one := range c.removed {
		s.leave(one, false)
		r.leaving[one.Name] = one
		if path := one.stateFile(); path != "" {
			one.console.Say("removed, keeping its state file " + output.EscapeLine(path))
		} else {
			one.console.Say("removed")
		}
	}
	for _, one := range c.added {
		one.messages.release()
		switch old := one.predecessor; {
		case one.skipped != nil && !one.skipped.leaves.Load():
			s.leave(one.skipped, false)
		case old == nil || old.leaves.Load():
		case one.stateFile() == "":
			s.leave(old, true)
			s.drain(old)
		default:
			s.leave(old, false)
		}
	}
	s.mu.Lock()
	s.rules = slices.Concat(c.kept, c.added)
	s.mu.Unlock()
	s.publishMetrics()
	s.startGroups(ctx, groups)
	for _, one := range c.added {
		if one.predecessor != nil {
			s.succeed(ctx, one)
		}
	}
}

// startGroups starts rules, with a watch for each group.
func (s *Supervisor) startGroups(ctx context.Context, groups [][]*activeRule) {
	var watches []*sharedWatch
	for _, g := range groups {
		watches = append(watches, s.newWatch(g))
	}
	s.mu.Lock()
	s.watches = slices.Concat(s.watches, watches)
	load := s.loadLocked()
	s.mu.Unlock()
	if s.started {
		run.TuneMore(load)
	} else {
		run.TuneTargets(load)
	}
	for _, w := range watches {
		for _, one := range w.rules {
			one.start(ctx)
		}
		w.start(ctx)
	}
}

// leave ends a rule as the end of the run does: its queue is drained for at most --drain. If keepsOn is set, it is drained until it is
// empty, the process ends, or drain ends it.
func (s *Supervisor) leave(one *activeRule, keepsOn bool) {
	one.keepsOn.Store(keepsOn)
	one.leaves.Store(true)
	s.mu.Lock()
	s.rules = slices.DeleteFunc(slices.Clone(s.rules), func(o *activeRule) bool { return o == one })
	s.mu.Unlock()
	s.unsubscribe(one)
	one.stop()
	s.publishMetrics()
}

// drain notes that a changed rule without a state file delivers what waits while its successor runs. If an earlier version of the rule
// still does so, that version ends after --drain.
func (s *Supervisor) drain(old *activeRule) {
	s.mu.Lock()
	before := s.draining[old.Name]
	s.draining[old.Name] = old
	s.mu.Unlock()
	if before != nil && !hasEnded(before.done) {
		before.console.Say("changed again: events for its earlier receiver are dropped after " + before.Receiver.DrainTimeout.String())
		before.stopDraining()
	}
}

// succeed starts a changed rule after its predecessor (awaitPredecessor). It retries errors until the rule leaves or ctx ends.
func (s *Supervisor) succeed(ctx context.Context, one *activeRule) {
	own, stop := context.WithCancel(ctx)
	one.stop = stop
	s.running.Go(func() {
		defer stop()
		begun := one.awaitPredecessor(own) && s.beginRetrying(own, one)
		s.changing.Lock() // a change of the file finds the rule either running or ended
		defer s.changing.Unlock()
		if begun && own.Err() == nil {
			one.predecessor, one.skipped = nil, nil // releases what they have kept
			s.startGroups(ctx, [][]*activeRule{{one}})
			return
		}
		s.undo([]*activeRule{one})
		close(one.drained)
		close(one.done)
	})
}

// awaitPredecessor waits until the predecessor has ended. Without a state file it waits until the stages of the predecessor have all
// events, and then for at most --drain: the predecessor may deliver them while r runs. It returns false if ctx has ended.
func (r *activeRule) awaitPredecessor(ctx context.Context) bool {
	if r.skipped != nil {
		await(ctx, r.skipped.done, 0)
	}
	await(ctx, r.predecessor.drained, 0)
	if r.stateFile() != "" {
		await(ctx, r.predecessor.done, 0)
	} else {
		await(ctx, r.predecessor.done, r.predecessor.Receiver.DrainTimeout)
	}
	return ctx.Err() == nil
}

// beginRetrying makes the stages of a rule, and tries again what fails. It returns false if ctx has ended.
func (s *Supervisor) beginRetrying(ctx context.Context, one *activeRule) bool {
	since := time.Now()
	elapsed := func() time.Duration { return time.Since(since).Round(time.Second) }
	var backoff source.Backoff
	why := ""
	for ctx.Err() == nil {
		err := one.begin(ctx)
		switch {
		case err == nil && why == "":
			return true
		case err == nil:
			one.console.Say(fmt.Sprintf("it runs now. For %s it did not: %s", elapsed(), one.explainGap()))
			return true
		}
		_ = one.run.CloseState(nil) // nothing was written
		if ctx.Err() != nil {
			break
		}
		if line := strings.Join(fail.Explain(err), "; "); line != why {
			why = line
			one.console.Warn("not running yet: " + why + "; trying again")
		}
		if !backoff.Wait(ctx, err) {
			break
		}
	}
	if why != "" && !one.leaves.Load() { // the process ends
		s.addFailure(run.LossError{Err: fmt.Errorf("rule %s has not run for %s: %s", one.Name, elapsed(), why)})
	}
	return false
}

// explainGap says what the rule gets of the time in which it did not run.
func (r *activeRule) explainGap() string {
	if r.history() == nil {
		return "existing objects are sent first"
	}
	return "it gets the differences, without states in between"
}
