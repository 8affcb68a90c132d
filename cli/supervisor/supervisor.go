package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/cli/rules"
	"dwatch/cli/run"
	"dwatch/cli/version"
	"dwatch/output"
)

// Config is a file of rules, and the flags of the process.
type Config struct {
	Connection *cluster.Flags
	File       string
	Text       []byte // of the file
	Rules      []*Rule
	// Parse returns the rules of a text. path is how the file is named in messages.
	Parse    func(path string, text []byte) ([]*Rule, error)
	Listen   string
	Verify   time.Duration
	StateDir string // of --state, or empty
}

// Rule is one rule of the file.
type Rule struct {
	*rules.Rule
	Config   run.Config
	Receiver destination.ReceiverOptions
}

// StatePath is the state file of a rule in the directory of --state.
func StatePath(dir, rule string) string { return filepath.Join(dir, rule+".state") }

// Supervisor runs the rules of a Config. It is one type because a reload changes the configuration and the running rules
// together.
type Supervisor struct {
	Config
	text    []byte // the text of the rules that run
	term    *lease.Term
	standBy bool // a replica that does not lead
	started bool // the first rules run, so that new ones cannot end the process; written before the reloader runs

	console  *console.Console
	cluster  *cluster.Cluster
	measured *metrics.Rules          // nil without --listen
	reload   chan os.Signal          // asks to read the file at once
	fail     context.CancelCauseFunc // ends the run
	running  sync.WaitGroup          // all rules and watches

	changing sync.Mutex // is held while a change of the file is applied, or a changed rule starts

	mu     sync.Mutex
	active // guarded by mu
}

// active is what runs.
type active struct {
	rules    []*activeRule // in the order of the file; never changed in place
	watches  []*sharedWatch
	refusals map[*sharedWatch]error // of watches that the server refused when they started
	draining map[string]*activeRule // changed rules without a state file that still deliver what waits, by name
	failed   []error
}

// New returns a Supervisor for c.
func New(c Config) *Supervisor {
	return &Supervisor{Config: c, text: c.Text, active: active{refusals: map[*sharedWatch]error{}, draining: map[string]*activeRule{}}}
}

// Run runs the rules until ctx ends or one of them fails.
func (s *Supervisor) Run(ctx context.Context, c *console.Console) error {
	if s.Connection.HasMultipleContexts() {
		return fail.Usage(cluster.ErrMultipleContexts)
	}
	return s.withPrepared(c, func(start *changeset) error {
		server, err := run.Listen(c, s.Listen, func() (*metrics.Server, error) {
			s.measure()
			return metrics.ListenRules(s.Listen, version.Release(), s.measured)
		})
		if err != nil {
			return err
		}
		defer server.Close()
		return run.AtCluster(ctx, c, s.Connection, 0, false, func(ctx context.Context, k *cluster.Cluster) error {
			return s.atCluster(ctx, k, start)
		})
	})
}

// withPrepared prepares the rules, which needs no server, calls work, and closes what work has not started.
func (s *Supervisor) withPrepared(c *console.Console, work func(*changeset) error) error {
	s.console = c
	s.reload = make(chan os.Signal, 1)
	defer s.NotifyReload(c, s.reload)()
	start := &changeset{}
	for _, r := range s.Rules {
		start.added = append(start.added, newActiveRule(r, s))
	}
	s.rules = start.added
	defer s.undo(start.added)
	if err := s.prepare(start.added); err != nil {
		return err
	}
	s.publishMetrics()
	return work(start)
}

// atCluster starts the rules and follows the file until ctx ends or something fails.
func (s *Supervisor) atCluster(ctx context.Context, k *cluster.Cluster, start *changeset) error {
	s.cluster = k
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.running.Wait()
	defer s.fail(nil)
	groups, err := s.begin(ctx, start)
	if err != nil {
		return err
	}
	for _, path := range s.unusedStates() {
		s.console.Say(output.EscapeLine(path) + " belongs to no rule: events that wait in it are not delivered")
	}
	r := newReloader(s)
	s.apply(ctx, r, start, groups)
	s.started = true
	s.console.Status.Set(s.status)
	s.running.Go(func() { r.run(ctx) })
	s.running.Wait()
	return errors.Join(s.failed...)
}

// unusedStates are state files of rules that do not exist any more.
func (s *Supervisor) unusedStates() (left []string) {
	if s.StateDir == "" {
		return nil
	}
	all, _ := filepath.Glob(filepath.Join(s.StateDir, "*.state"))
	for _, path := range all {
		if !slices.ContainsFunc(s.Rules, func(r *Rule) bool { return StatePath(s.StateDir, r.Name) == path }) {
			left = append(left, path)
		}
	}
	return left
}

// end ends the run with an error.
func (s *Supervisor) end(err error) {
	s.addFailure(err)
	s.fail(err)
}

func (s *Supervisor) addFailure(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, err)
}

// measure makes the metrics of --listen.
func (s *Supervisor) measure() {
	s.measured = new(metrics.Rules)
	s.measured.RecordReload(time.Now(), true)
	s.measured.SetDrainStats(s.drainStats)
	s.publishMetrics()
}

// publishMetrics publishes the metrics of the present rules.
func (s *Supervisor) publishMetrics() {
	if s.measured == nil {
		return
	}
	s.mu.Lock()
	var all []metrics.Rule
	for _, r := range s.rules {
		if r.run != nil {
			all = append(all, metrics.Rule{Name: r.Name, Metrics: r.run.Metrics()})
		}
	}
	s.mu.Unlock()
	s.measured.SetRules(all)
}

// drainStats counts the changed rules that still deliver what waits, and the events that wait.
func (s *Supervisor) drainStats() (outboxes, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.draining {
		if !hasEnded(r.done) {
			outboxes++
			events += r.receiver.Waiting()
		}
	}
	return outboxes, events
}

// status says how the watches and the rules are.
func (s *Supervisor) status() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		lines = append(lines, w.statusLocked())
	}
	for _, r := range s.rules {
		if r.waits.Load() {
			lines = append(lines, "rule "+r.Name+": not running yet: waiting for its previous version to end")
			continue
		}
		if text := r.run.Status(); text != "" {
			lines = append(lines, "rule "+r.Name+": "+text)
		}
	}
	for name, r := range s.draining {
		if !hasEnded(r.done) {
			lines = append(lines, "rule "+name+", as it was before: "+r.receiver.Status())
		}
	}
	return lines
}

// loadLocked is about how many goroutines are busy at once. The caller holds s.mu.
func (s *Supervisor) loadLocked() (n int) {
	for _, w := range s.watches {
		n += len(w.targets)
	}
	for _, r := range s.rules {
		n += r.run.Needs().Workers
	}
	return n
}

// Replica runs the rules while it holds a Lease.
func (c *Config) Replica(l flags.Lease) *run.Replica {
	text := c.Text
	return &run.Replica{
		Lease: l, Connection: c.Connection, Listen: c.Listen, HasState: c.StateDir != "",
		Check: func(console *console.Console) error { return CheckReceivers(c.Rules, console) },
		Work: func(ctx context.Context, console *console.Console, k *cluster.Cluster, term *lease.Term, measured *metrics.Replica) (err error) {
			own := *c
			own.Text = text
			if own.Rules, err = c.Parse(output.EscapeLine(c.File), text); err != nil {
				return err
			}
			if term == nil {
				own.StateDir = ""
			}
			s := New(own)
			s.term, s.standBy = term, term == nil
			if measured != nil {
				s.measure()
				measured.SetRulesRun(s.measured, term.IsHeld)
			}
			defer func() { text = s.text }() // the next term begins with the rules of this one
			return s.withPrepared(console, func(start *changeset) error { return s.atCluster(ctx, k, start) })
		},
	}
}

// CheckReceivers finds out whether the receivers of rules can be made. The error has a line for each rule.
func CheckReceivers(rules []*Rule, c *console.Console) error {
	var wrong []error
	for _, r := range rules {
		wrong = append(wrong, r.checkReceiver(c))
	}
	return errors.Join(wrong...)
}

func hasEnded(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}

// await waits for an end, and for at most timeout if that is not zero.
func await(ctx context.Context, end <-chan struct{}, timeout time.Duration) {
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	select {
	case <-end:
	case <-late:
	case <-ctx.Done():
	}
}
