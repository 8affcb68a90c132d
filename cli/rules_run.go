package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/metrics"
	"dwatch/cli/rules"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/share"
)

// ruleset is a run of several rules. Each is what dwatch send is of its command line, with stages, a receiver
// and a file of --state of its own; what they watch is shared (ruleWatch).
type ruleset struct {
	connection *cluster.Flags
	file       string
	listen     string
	verify     time.Duration
	stateDir   string // of --state; empty: none
	rules      []*rule
	fail       context.CancelCauseFunc // ends the run

	began time.Time // when the watches did

	mu       sync.Mutex
	watches  []*ruleWatch
	refusals map[*ruleWatch]error // of those that the server has refused at first
}

// rule is the run of one. What has no other owner belongs to the goroutine of its run.
type rule struct {
	*watching
	*rules.Rule
	branch *share.Branch
	ask    func() // waits for what is asked on the way
	ended  bool   // and so has its state
}

func (one *rule) delivery() *delivery { return one.to.(*delivery) }

func (r *ruleset) goesOn() bool { return true }

func (r *ruleset) run(ctx context.Context, c *console) error {
	if r.connection.IsSeveral() {
		return fail.Usage(cluster.ErrSeveral)
	}
	for _, one := range r.rules {
		if err := one.to.prepare(c.ofRule(one.Name)); err != nil {
			return errorOf("rule "+one.Name, err)
		}
		defer one.to.close()
	}
	server, err := r.startListening(c)
	if err != nil {
		return err
	}
	defer server.Close()
	return c.at(ctx, r.connection, 0, false, func(ctx context.Context, k *cluster.Cluster) error {
		return r.atCluster(ctx, c, k)
	})
}

// startListening answers how each rule is.
func (r *ruleset) startListening(c *console) (*metrics.Server, error) {
	if r.listen == "" {
		return nil, nil
	}
	var all []metrics.Rule
	for _, one := range r.rules {
		one.metrics = metrics.New(metrics.Options{Version: orDevel(release), Heartbeat: one.beatEvery(), Verify: r.verify > 0})
		all = append(all, metrics.Rule{Name: one.Name, Metrics: one.metrics})
	}
	server, err := metrics.ListenRules(r.listen, all)
	if err != nil {
		return nil, fail.Usage(fmt.Errorf("--listen %s: %w", r.listen, err))
	}
	c.say("listening on " + server.URL())
	return server, nil
}

func (r *ruleset) atCluster(ctx context.Context, c *console, k *cluster.Cluster) (err error) {
	ctx, r.fail = context.WithCancelCause(ctx)
	defer r.fail(nil)
	defer func() { err = errors.Join(err, r.closeStates()) }()
	if err := r.open(ctx, c, k); err != nil {
		return err
	}
	targets, parallel := 0, 0
	if err := r.begin(ctx); err != nil {
		return err
	}
	for _, one := range r.rules {
		parallel += one.parallel
	}
	r.watches, r.refusals = r.share(c), map[*ruleWatch]error{}
	for _, w := range r.watches {
		targets += len(w.targets)
	}
	tuneRun(targets + parallel)
	r.began = time.Now()
	c.asked.is(r.status)
	return r.runAll(ctx)
}

// open finds out what the rules name.
func (r *ruleset) open(ctx context.Context, c *console, k *cluster.Cluster) error {
	var wrong []error
	for _, one := range r.rules {
		s, err := c.ofRule(one.Name).open(ctx, k, one.selection)
		switch {
		case err != nil && fail.ExitCode(err) != fail.ExitUsage:
			return err
		case err != nil:
			wrong = append(wrong, errorOf(one.At("resource")+": rule "+one.Name, orWait(err)))
		}
		one.session = s
	}
	if r.stateDir == "" || len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	if err := os.MkdirAll(r.stateDir, 0o700); err != nil {
		return fail.Usage(fmt.Errorf("%s: %w", stateTakes, err))
	}
	for _, path := range r.leftStates() {
		c.say(output.Line(path) + " is of none of the rules: nobody reads it, and what may wait in it is not delivered")
	}
	return nil
}

// leftStates are the files of rules that are not there any more.
func (r *ruleset) leftStates() (left []string) {
	all, _ := filepath.Glob(filepath.Join(r.stateDir, "*.state")) // or there is nothing to say
	for _, path := range all {
		if !slices.ContainsFunc(r.rules, func(one *rule) bool { return stateOf(r.stateDir, one.Name) == path }) {
			left = append(left, path)
		}
	}
	return left
}

// begin makes the stages of all rules side by side: some may wait for a server that does not answer.
func (r *ruleset) begin(ctx context.Context) error {
	managed := r.keepsManagedFields() // for then they come to all
	for _, one := range r.rules {
		one.needs.managedFields = managed
	}
	var all sync.WaitGroup
	ends := make([]error, len(r.rules))
	for i, one := range r.rules {
		all.Go(func() {
			if err := one.begin(ctx, r); err != nil {
				ends[i] = errorOf("rule "+one.Name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(ends...)
}

// begin makes the stages of a rule, before anything is watched.
func (one *rule) begin(ctx context.Context, r *ruleset) (err error) {
	if one.state, err = one.openState(ctx); err != nil {
		return err
	}
	if one.plan.IsNowhere() {
		one.say("no namespace matches " + one.scope.Choice() + " yet; waiting for one")
	}
	one.delivery().Held = func(held bool) { one.branch.Held(held) }
	s, err := one.newStages(ctx, r.fail)
	if err != nil {
		return err
	}
	checked, wait := checkFields(one.session, fieldsNamed(one.watching), one.warn, s.first)
	one.ask = wait
	targets := slices.Concat(one.plan.Targets, one.state.orphans(one.plan))
	one.metrics.Begin(targets)
	one.branch, err = share.NewBranch(one.metrics.Front(checked), share.Options{
		Targets: targets, All: one.plan.Follows() || one.about != nil,
		Past: one.state.past(), Keep: one.needed().old,
		Alone: func(ctx context.Context, sink event.Sink, targets []event.Target, past event.Past) error {
			return r.watchAlone(ctx, one, sink, targets, past)
		},
		Dropped: func() {
			one.warn("its outbox is full: the others go on without it, and it watches for itself when there is room")
		},
	})
	if note := strings.TrimPrefix(one.state.note(), ", "); note != "" {
		one.say(note)
	}
	return err
}

func (r *ruleset) keepsManagedFields() bool {
	return slices.ContainsFunc(r.rules, func(one *rule) bool { return one.kept || one.needed().managedFields })
}

// runAll runs the watches, and the rules, until ctx ends, or one of them can't go on.
func (r *ruleset) runAll(ctx context.Context) error {
	var all sync.WaitGroup
	ends := make([]error, len(r.rules)+len(r.watches))
	end := func(i int, err error) {
		if ends[i] = err; err != nil {
			r.fail(err)
		}
	}
	for i, one := range r.rules {
		all.Go(func() { end(i, one.run(ctx, r)) })
	}
	for i, w := range r.watches {
		all.Go(func() {
			defer w.fan.Close()
			end(len(r.rules)+i, w.run(ctx))
		})
	}
	all.Wait()
	return errors.Join(ends...)
}

// run delivers what its branch gets.
func (one *rule) run(ctx context.Context, r *ruleset) error {
	err := one.to.around(ctx, r.fail, one.watching, func() error {
		err := one.branch.Run(ctx)
		if err != nil && !isLoss(err) && fail.ExitCode(err) != fail.ExitUsage {
			err = sinkError{err}
		}
		err = one.settleAll(ctx, err)
		if err != nil { // the others are not to wait for what it has yet to deliver
			r.fail(err)
		}
		one.metrics.End()
		one.ask()
		return err
	})
	one.ended = true
	if err = one.state.end(err); err != nil {
		return sinkError{fmt.Errorf("rule %s: %w", one.Name, err)}
	}
	return nil
}

// closeStates closes the files of rules that have not run.
func (r *ruleset) closeStates() error {
	var errs []error
	for _, one := range r.rules {
		if !one.ended {
			errs = append(errs, one.state.end(nil))
		}
	}
	return errors.Join(errs...)
}

// status says how the watches are, and each rule.
func (r *ruleset) status() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.watches {
		lines = append(lines, w.status())
	}
	for _, one := range r.rules {
		if s := joinStatus(one.settling.Status(), one.to.status()); s != "" {
			lines = append(lines, "rule "+one.Name+": "+s)
		}
	}
	return lines
}
