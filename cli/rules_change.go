package cli

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
	"dwatch/output"
	"dwatch/watcher/event"
)

// difference is what becomes of the rules. The start is one from none.
//
// It is made in steps, of which the first two may fail, and are undone then: prepare, which needs no server; begin, which asks for
// what rules name, and makes the stages of those that take nobody's place; replace, which lets go of rules, and runs the others.
type difference struct {
	kept, gone []*rule
	begin      []*rule // new ones, and those that take the place of another
}

// compare finds out what stays.
func (r *rereading) compare(all []*rule) (c difference) {
	named := map[string]*rule{}
	for _, one := range r.rules {
		named[one.Name] = one
	}
	for _, one := range all {
		old := named[one.Name]
		if old != nil && old.Equal(one.Rule) {
			c.kept = append(c.kept, old)
		} else {
			one.replaces = old != nil
			if old == nil && r.stateDir != "" { // which may have the file yet
				old = r.leaving[one.Name]
			}
			if one.after = old; old != nil && old.waits {
				one.after, one.unrun = old.after, old
			}
			c.begin = append(c.begin, one)
		}
		delete(named, one.Name)
	}
	for _, one := range r.rules {
		if named[one.Name] != nil {
			c.gone = append(c.gone, one)
		}
	}
	return c
}

// String says what becomes of the rules.
func (c difference) String() string {
	var new, changed []*rule
	for _, one := range c.begin {
		if one.replaces {
			changed = append(changed, one)
		} else {
			new = append(new, one)
		}
	}
	var parts []string
	for _, part := range []struct {
		what  string
		rules []*rule
	}{{"new", new}, {"changed", changed}, {"let go", c.gone}} {
		if len(part.rules) > 0 {
			parts = append(parts, part.what+": "+ruleNames(part.rules))
		}
	}
	if parts == nil {
		return "nothing changes"
	}
	if len(c.kept) > 0 {
		parts = append(parts, "as before: "+ruleNames(c.kept))
	}
	return strings.Join(parts, "; ")
}

func ruleNames(rules []*rule) string {
	var names []string
	for _, one := range rules {
		names = append(names, one.Name)
	}
	return strings.Join(names, ", ")
}

// prepare makes the receivers of rules, if nothing is wrong with any of them. What there is to say of a rule beside others that run
// waits until it is taken.
func (r *ruleset) prepare(begin []*rule) error {
	if err := checkReceivers(begin, r.console.silent()); err != nil {
		return err
	}
	for _, one := range begin {
		one.console = r.console.ofRule(one.Name)
		if r.runs && !one.console.isQuiet() {
			one.notes = &notes{next: one.console.reports}
			one.console.reports = one.notes
		}
		r.count(one)
		if err := one.to.prepare(one.console); err != nil {
			return r.errorOf(one, err)
		}
	}
	return nil
}

// errorOf is an error of a rule, and beside others that run says where that is.
func (r *ruleset) errorOf(one *rule, err error) error {
	where := "rule " + one.Name
	if r.runs {
		where = one.Position + ": " + where
	}
	return errorOf(where, err)
}

// begin does all else for rules that may fail before anything is changed.
func (r *ruleset) begin(ctx context.Context, c difference) error {
	begin := c.begin
	if err := r.open(ctx, begin); err != nil {
		return err
	}
	manage(begin, r.isManaged())
	c.sayTopics()
	for _, one := range begin {
		if one.after != nil {
			if err := one.checkPlace(ctx); err != nil {
				return r.errorOf(one, err)
			}
		}
	}
	return r.beginAll(ctx, slices.DeleteFunc(slices.Clone(begin), func(one *rule) bool { return one.after != nil }))
}

// sayTopics says which rules send the same objects to one topic of Kafka, where their keys are the same, too.
func (c difference) sayTopics() {
	for i, one := range c.begin {
		for _, other := range slices.Concat(c.begin[:i], c.kept) {
			if one.overwrites(other) {
				one.say(fmt.Sprintf("it sends to the topic %s of what rule %s sends there, too, under the same keys: if that is compacted, it keeps the last of either", one.delivery().Kafka.Topic, other.Name))
			}
		}
	}
}

// overwrites reports whether two rules may send the same object to one topic.
func (one *rule) overwrites(other *rule) bool {
	a, b := one.delivery(), other.delivery()
	return a.IsKafka() && b.IsKafka() && a.Kafka.Topic == b.Kafka.Topic &&
		slices.ContainsFunc(a.Kafka.Brokers, func(broker string) bool { return slices.Contains(b.Kafka.Brokers, broker) }) &&
		slices.ContainsFunc(one.plan.Targets, func(t event.Target) bool {
			return slices.ContainsFunc(other.plan.Targets, func(o event.Target) bool {
				return t.Key() == o.Key() || t.Key().Covers(o.Key()) || o.Key().Covers(t.Key())
			})
		})
}

// open finds out what rules name.
func (r *ruleset) open(ctx context.Context, begin []*rule) error {
	var wrong []error
	for _, one := range begin {
		if err := one.findShard(); err != nil {
			return err
		}
		err := one.open(ctx, r)
		if err != nil && fail.ExitCode(err) != fail.ExitUsage {
			return err
		}
		wrong = append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil || r.stateDir == "" {
		return err
	}
	if err := os.MkdirAll(r.stateDir, 0o700); err != nil {
		return fail.Usage(fmt.Errorf("%s: %w", stateTakes, err))
	}
	return nil
}

// open finds out what the rule names. What is wrong with that is wrong usage, and says where. At the start the watch finds out
// whether the server understands it, and ends with that; one that comes later must not.
func (one *rule) open(ctx context.Context, r *ruleset) (err error) {
	switch one.session, err = one.console.open(ctx, r.cluster, one.selection); {
	case err != nil && fail.ExitCode(err) == fail.ExitUsage:
		return errorOf(one.FlagPosition("resource")+": rule "+one.Name, orWait(err))
	case err != nil:
		return r.errorOf(one, err)
	case !r.runs:
		return nil
	}
	if err := one.checkAsked(ctx); err != nil {
		return errorOf(one.FlagPosition("field-selector")+": rule "+one.Name, err)
	}
	return nil
}

// beginAll makes the stages of rules. A receiver that does not answer holds up none of them; and not the start for long.
func (r *ruleset) beginAll(ctx context.Context, begin []*rule) error {
	var all, asides sync.WaitGroup
	ends := make([]error, len(begin))
	for i, one := range begin {
		if !r.runs {
			one.delivery().aside = r.aside(ctx, one, &asides)
		}
		all.Go(func() {
			if err := one.begin(ctx, r); err != nil {
				ends[i] = r.errorOf(one, err)
			}
		})
	}
	all.Wait()
	if r.runs {
		return errors.Join(ends...)
	}
	answered := make(chan struct{})
	r.running.Go(func() {
		asides.Wait()
		close(answered)
	})
	await(ctx, answered, asideWait)
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(append(ends, r.failed...)...)
}

// aside returns what does something for a rule that nobody waits for.
func (r *ruleset) aside(ctx context.Context, one *rule, asides *sync.WaitGroup) func(func() error) {
	return func(do func() error) {
		asides.Add(1)
		r.running.Go(func() {
			defer asides.Done()
			if err := do(); err != nil && ctx.Err() == nil {
				r.end(errorOf("rule "+one.Name, err))
			}
		})
	}
}

// asideWait is how long rules wait at the start for servers that most answer in no time: what is wrong with them is said, then, before
// anything is watched.
const asideWait = time.Second

// isManaged reports whether what is watched has the managed fields.
func (r *ruleset) isManaged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.watches, func(w *ruleWatch) bool { return w.managed })
}

// checkPlace returns an error if a rule can't take the place of another, as far as that can be known before: it needs its file.
func (one *rule) checkPlace(ctx context.Context) error {
	if err := one.checkState(); err != nil {
		return fail.Usage(err)
	}
	if one.delivery().remote == nil || one.delivery().idle {
		return nil
	}
	return one.delivery().beginFor(ctx, one.watching)
}

// checkState returns an error if a rule can't go on with the file of the one whose place it is to take.
func (one *rule) checkState() error {
	if one.stateFile == "" {
		return nil
	}
	was := one.after
	if before, now := was.plan.Selection, one.plan.Selection; !before.Equal(now) {
		return fmt.Errorf("its state file %s was made for %s, not for %s: give it another name", output.EscapeLine(one.stateFile), before, now)
	}
	err := was.state.file.CheckOutboxEncoding(one.print.Format)
	if hasEnded(was.done) { // and its file is closed: the begin finds out
		return nil
	}
	return err
}

// undo closes what was opened for rules that have not run, and removes what was made for them.
func (r *ruleset) undo(begin []*rule) {
	begin = slices.DeleteFunc(slices.Clone(begin), func(one *rule) bool { return one.hurry != nil })
	for _, one := range begin {
		if err := one.state.end(nil); err != nil {
			r.console.warn(err.Error())
		}
		one.state = nil
		one.to.close()
		if one.made {
			one.made = false
			_ = os.Remove(one.stateFile) // or it stays, with nothing in it
		}
	}
}
