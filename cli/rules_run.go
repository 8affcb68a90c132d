package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/cli/rules"
	"dwatch/output"
	"dwatch/watcher/broadcast"
	"dwatch/watcher/event"
)

// ruleset is a run of several rules. Each is what dwatch send is of its command line, with stages, a receiver
// and a file of --state of its own; what they watch is shared (ruleWatch). They change with their file (rereading).
type ruleset struct {
	connection *cluster.Flags
	file       string
	text       []byte // of the file, that the rules are of
	parse      func(path string, text []byte) ([]*rule, error)
	listen     string
	verify     time.Duration
	stateDir   string      // of --state; empty: none
	term       *lease.Term // it delivers in; nil: there are no others, or it stands by
	console    *console
	cluster    *cluster.Cluster
	asked      chan os.Signal          // to read the file again at once
	measured   *metrics.Rules          // nil without --listen
	fail       context.CancelCauseFunc // ends the run
	running    sync.WaitGroup          // all rules and watches

	mu        sync.Mutex
	rules     []*rule // those that are there now; never changed in place
	watches   []*ruleWatch
	runs      bool                 // rules do, and none of those that come may end them
	refusals  map[*ruleWatch]error // of those that the server has refused at first
	lingering map[string]*rule     // what rules were before they changed, as long as it delivers what waits
	failed    []error
}

// rule is the run of one. What has no other owner belongs to the goroutine of its run.
type rule struct {
	*watching
	*rules.Rule
	branch *broadcast.Subscriber
	ask    func() // waits for what is asked on the way

	console  *console // of what is said of it before it has a session
	began    time.Time
	after    *rule  // whose place it is to take; nil: nobody's, or it has
	unrun    *rule  // which was to take that place, and has not
	replaces bool   // it took the place of another
	waits    bool   // for that, and does not run yet; of the set's mu
	made     bool   // its file of --state was not there before
	managed  bool   // it wants the managed fields, which it may get for others
	notes    *notes // nil: what is to be said is said
	stop     context.CancelFunc
	hurry    context.CancelFunc // ends its lingering, after --drain; nil: it has never run
	// starts: it is told what was there before it came to share a watch.
	starts atomic.Bool
	// leaves: it is let go, and ends nothing but itself.
	leaves atomic.Bool
	told   chan struct{} // is closed when its branch has ended
	done   chan struct{} // is closed when all of it has
}

func (one *rule) delivery() *delivery { return one.to.(*delivery) }

func (r *ruleset) goesOn() bool { return true }

func (r *ruleset) run(ctx context.Context, c *console) error {
	if r.connection.HasMultipleContexts() {
		return fail.Usage(cluster.ErrMultipleContexts)
	}
	return r.within(c, func(start difference) error {
		server, err := r.startListening(c)
		if err != nil {
			return err
		}
		defer server.Close()
		return c.at(ctx, r.connection, 0, false, func(ctx context.Context, k *cluster.Cluster) error {
			return r.atCluster(ctx, k, start)
		})
	})
}

// within prepares what needs no server, for work, and undoes what that has not begun.
func (r *ruleset) within(c *console, work func(start difference) error) error {
	r.console = c
	defer r.whenAskedAgain(c)()
	start := difference{begin: r.rules}
	defer r.undo(start.begin)
	if err := r.prepare(start.begin); err != nil {
		return err
	}
	return work(start)
}

// atCluster begins, and goes on with what the file says, until ctx ends, or something can't go on.
func (r *ruleset) atCluster(ctx context.Context, k *cluster.Cluster, start difference) error {
	r.cluster = k
	ctx, r.fail = context.WithCancelCause(ctx)
	defer r.running.Wait()
	defer r.fail(nil)
	if err := r.begin(ctx, start); err != nil {
		return err
	}
	for _, path := range r.leftStates() {
		r.console.say(output.EscapeLine(path) + " is of none of the rules: nobody reads it, and what may wait in it is not delivered")
	}
	r.refusals = map[*ruleWatch]error{}
	changing := newRereading(r)
	changing.replace(ctx, start)
	r.runs = true
	r.console.asked.is(r.status)
	r.running.Go(func() { changing.run(ctx) })
	r.running.Wait()
	return errors.Join(r.failed...)
}

// startListening answers how each rule is.
func (r *ruleset) startListening(c *console) (*metrics.Server, error) {
	return c.listen(r.listen, func() (*metrics.Server, error) {
		r.beMeasured()
		return metrics.ListenRules(r.listen, orDevel(release), r.measured)
	})
}

func (r *ruleset) beMeasured() {
	r.measured = new(metrics.Rules)
	r.measured.RecordReload(time.Now(), true)
	r.measured.SetDrainStats(r.lingerers)
	r.measure(r.rules)
}

// measure has rules have metrics, if anything has, and these be all that there are.
func (r *ruleset) measure(rules []*rule) {
	if r.measured == nil {
		return
	}
	var all []metrics.Rule
	for _, one := range rules {
		r.count(one)
		all = append(all, metrics.Rule{Name: one.Name, Metrics: one.metrics})
	}
	r.measured.SetRules(all)
}

// count has a rule have metrics, if anything has.
func (r *ruleset) count(one *rule) {
	if r.measured != nil && one.metrics == nil {
		one.metrics = one.newMetrics(r.verify > 0)
	}
}

// leftStates are the files of rules that are not there any more.
func (r *ruleset) leftStates() (left []string) {
	if r.stateDir == "" {
		return nil
	}
	all, _ := filepath.Glob(filepath.Join(r.stateDir, "*.state")) // or there is nothing to say
	for _, path := range all {
		if !slices.ContainsFunc(r.rules, func(one *rule) bool { return stateOf(r.stateDir, one.Name) == path }) {
			left = append(left, path)
		}
	}
	return left
}

// manage has all rules know whether they get the managed fields: they do if one wants them, or if they come anyway.
func manage(rules []*rule, anyway bool) {
	managed := anyway || wantManaged(rules)
	for _, one := range rules {
		one.managed = wantManaged([]*rule{one})
	}
	for _, one := range rules {
		one.needs.managedFields = managed
	}
}

func wantManaged(rules []*rule) bool {
	return slices.ContainsFunc(rules, func(one *rule) bool { return one.kept || one.needed().managedFields })
}

// end ends the run with an error.
func (r *ruleset) end(err error) {
	r.mu.Lock()
	r.failed = append(r.failed, err)
	r.mu.Unlock()
	r.fail(err)
}

// begin makes the stages of a rule, before anything is watched.
func (one *rule) begin(ctx context.Context, r *ruleset) (err error) {
	one.began = time.Now()
	_, err = os.Stat(one.stateFile)
	one.made = one.stateFile != "" && errors.Is(err, fs.ErrNotExist)
	if one.state, err = one.openState(ctx); err != nil {
		return err
	}
	if one.plan.MatchesNoNamespace() {
		one.say("no namespace matches " + one.scope.NamespaceFlag() + " yet; waiting for one")
	}
	one.delivery().OnBlocked = func(held bool) { one.branch.SetBlocked(held) }
	s, err := one.newStages(ctx, func(err error) { one.fails(r, err) })
	if err != nil {
		return err
	}
	checked, wait := checkFields(one.session, fieldsNamed(one.watching), one.warn, s.first)
	one.ask = wait
	targets := slices.Concat(one.plan.Targets, one.state.orphans(one.plan))
	one.metrics.Begin(targets)
	one.branch, err = broadcast.NewSubscriber(one.metrics.InputStage(checked), broadcast.Options{
		Targets: targets, AllTargets: one.plan.IsDynamic() || one.about != nil,
		History: one.past(), KeepContent: one.needed().old,
		FallbackWatch: func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
			r.stopIdle(one)
			return r.watchAlone(ctx, one, sink, targets, past)
		},
		OnDetached: func() {
			if one.starts.Load() {
				one.warn("more has happened meanwhile than may wait for it: it watches for itself, and the others go on without it")
				return
			}
			one.warn("its outbox is full: the others go on without it, and it watches for itself when there is room")
		},
	})
	if note := strings.TrimPrefix(one.state.note(), ", "); note != "" {
		one.say(note)
	}
	return err
}

// past is what was told before, by an earlier run, or by the rule whose place it takes if that asks for the same.
func (one *rule) past() event.HistoryFunc {
	if one.state == nil && one.after != nil && one.plan.Selection.Equal(one.after.plan.Selection) {
		return one.after.branch.History
	}
	return one.state.past()
}

// fails ends the run, unless the rule is let go.
func (one *rule) fails(r *ruleset, err error) {
	if !one.leaves.Load() {
		r.fail(err)
	}
}

// launch runs a rule.
func (r *ruleset) launch(ctx context.Context, one *rule) {
	process := ctx
	ctx, one.hurry = context.WithCancel(process)
	one.delivery().ends = ctx.Done()
	one.told, one.done = make(chan struct{}), make(chan struct{})
	ctx, one.stop = context.WithCancel(process)
	r.running.Go(func() {
		defer close(one.done)
		defer one.hurry()
		defer one.stop()
		defer one.to.close()
		err := one.run(ctx, r)
		switch {
		case err == nil:
		case one.leaves.Load():
			r.leftWith(one, err, process.Err() != nil)
		default:
			r.end(err)
		}
	})
}

// leftWith says what a rule that was let go has ended with. The run ends with it, too, if nobody knew that before: the process
// ends, or the rule was to go on until then.
func (r *ruleset) leftWith(one *rule, err error, ends bool) {
	if !ends {
		for _, line := range fail.Explain(err) {
			r.console.warn(line)
		}
	}
	if ends || one.delivery().lingers.Load() {
		r.mu.Lock()
		r.failed = append(r.failed, err)
		r.mu.Unlock()
	}
}

// launchWatch runs a watch that rules broadcast.
func (r *ruleset) launchWatch(ctx context.Context, w *ruleWatch) {
	ctx, w.stop = context.WithCancel(ctx)
	r.running.Go(func() {
		defer w.stop()
		defer w.fan.Close()
		if err := w.run(ctx); err != nil {
			r.end(err)
		}
	})
}

// run delivers what its branch gets.
func (one *rule) run(ctx context.Context, r *ruleset) error {
	err := one.to.around(ctx, r.fail, one.watching, func() error {
		handedOver := handOver(ctx, one.watching, func(err error) { one.fails(r, err) })
		err := one.branch.Run(ctx)
		err = cmp.Or(err, handedOver())
		if err != nil && !isLoss(err) && fail.ExitCode(err) != fail.ExitUsage {
			err = sinkError{err}
		}
		err = one.settleAll(ctx, err)
		if err != nil { // the others are not to wait for what it has yet to deliver
			one.fails(r, err)
		}
		one.metrics.SetStopping()
		one.ask()
		close(one.told)
		return err
	})
	if err = one.state.end(err); err != nil {
		return sinkError{fmt.Errorf("rule %s: %w", one.Name, err)}
	}
	return nil
}

// status says how the watches are, and each rule.
func (r *ruleset) status() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.watches {
		lines = append(lines, w.status())
	}
	for _, one := range r.rules {
		if one.waits {
			lines = append(lines, "rule "+one.Name+": it does not run yet: it takes the place of one that ends")
			continue
		}
		if s := joinStatus(one.settling.Status(), one.to.status()); s != "" {
			lines = append(lines, "rule "+one.Name+": "+s)
		}
	}
	for name, one := range r.lingering {
		if !hasEnded(one.done) {
			lines = append(lines, "rule "+name+", as it was before: "+one.to.status())
		}
	}
	return lines
}

// lingerers are how many outboxes there are of rules that are others now, and how many events wait in them.
func (r *ruleset) lingerers() (outboxes, events int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.lingering {
		if !hasEnded(one.done) {
			outboxes++
			events += one.delivery().queue.Stats().Waiting
		}
	}
	return outboxes, events
}
