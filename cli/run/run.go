package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/cli/report"
	"dwatch/cli/version"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/settle"
)

// Do runs a Config from the source that open makes to a destination, and returns what the run ends with. It blocks until the run has
// ended by itself or by ctx.
func Do(ctx context.Context, c *console.Console, cfg Config, open Opener, to Destination) (err error) {
	if cfg.Selection, err = cfg.Selection.WithShard(); err != nil {
		return err
	}
	if open.Check != nil {
		if err := open.Check(); err != nil {
			return err
		}
	}
	r := New(c, cfg, to)
	if err := r.Prepare(); err != nil {
		return err
	}
	defer r.Close()
	server, err := Listen(c, cfg.Listen, func() (*metrics.Server, error) {
		r.SetMetrics(NewMetrics(&cfg))
		return metrics.Listen(cfg.Listen, r.metrics)
	})
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, cancel := WithTimeout(ctx, cfg.Ending.Timeout)
	defer cancel()
	return EndOf(ctx, unanswered(ctx, &cfg.Ending, r.Follow(ctx, open)), false)
}

// Run is the state of one run. It is one type because Do, which reads from top to bottom, sets each field for the steps that
// follow.
type Run struct {
	cfg        Config
	console    *console.Console
	to         Destination
	needs      Requirements // of the destination and the stages
	layout     Layout
	scope      *Scope
	session    *Session // of the only cluster, or nil
	metrics    *metrics.Metrics
	term       *lease.Term // in which a replica delivers, or nil
	state      *State
	recordings *Recordings

	output   Output
	replayed atomic.Pointer[report.Reporter] // knows the status of a recording that is played
	stageResults
}

// stageResults are what stages leave for the end of the run and for each other.
type stageResults struct {
	note      func(time.Time, string) // shows status between the events, or nil
	printed   func() int
	condition *conditionStage // nil without conditions
	settling  *settle.Stage   // nil without --settle
	async     *asyncWriter    // nil if stdout is written directly
	pastSink  event.Sink      // gets the reconstructed past of several clusters

	unevaluated     int  // events for which --where could not be evaluated, until they are reported
	unevaluatedPast int  // the same for reconstructed events
	pastIncomplete  bool // some targets could not be listed
	conditionHeld   bool
}

// New returns a run that has not begun. The caller prepares and closes it.
func New(c *console.Console, cfg Config, to Destination) *Run {
	needs := cfg.Required(to.Requirements())
	return &Run{cfg: cfg, console: c, to: to, needs: needs, layout: LayoutOf(&cfg, to.Requirements())}
}

// LayoutOf is the layout of a run as far as the command line decides it.
func LayoutOf(cfg *Config, needs Requirements) Layout {
	return Layout{Config: cfg, Requirements: needs, Clusters: cfg.Connection.HasMultipleContexts(), Metrics: cfg.Listen != ""}
}

// SetMetrics makes m count the events of the run.
func (r *Run) SetMetrics(m *metrics.Metrics) {
	r.metrics = m
	r.layout.Metrics = m != nil
}

// SetTerm makes the run deliver in a term of a Lease. A nil term is for runs without --lease.
func (r *Run) SetTerm(term *lease.Term) { r.term = term }

// SetRecorded says that the source is a recording, of several clusters if so.
func (r *Run) SetRecorded(clusters bool) { r.layout.Recorded, r.layout.Clusters = true, clusters }

// Config returns what the run was made for.
func (r *Run) Config() *Config { return &r.cfg }

// Console is where the run writes to.
func (r *Run) Console() *console.Console { return r.console }

// Needs are the requirements of the destination and the stages.
func (r *Run) Needs() Requirements { return r.needs }

// State is the file of --state, or nil.
func (r *Run) State() *State { return r.state }

// Metrics are what SetMetrics was called with: the metrics of --listen, or nil.
func (r *Run) Metrics() *metrics.Metrics { return r.metrics }

// Prepare does what needs no server.
func (r *Run) Prepare() (err error) {
	if err := r.to.Prepare(r.console); err != nil {
		return err
	}
	if r.recordings, err = openRecordings(r.console, &r.cfg); err != nil {
		r.to.Close()
	}
	return err
}

// Close undoes Prepare.
func (r *Run) Close() {
	r.recordings.close()
	r.to.Close()
}

// NewMetrics returns the metrics of a run.
func NewMetrics(cfg *Config) *metrics.Metrics {
	return metrics.New(metrics.Options{Version: version.Release(), Heartbeat: cfg.HeartbeatEvery(), Verify: cfg.Verify > 0})
}

// Listen starts a server on address and reports its URL. It returns nil if address is empty. A failure is a usage error.
func Listen(c *console.Console, address string, start func() (*metrics.Server, error)) (*metrics.Server, error) {
	if address == "" {
		return nil, nil
	}
	server, err := start()
	if err != nil {
		return nil, fail.Usage(fmt.Errorf("--listen %s: %w", address, err))
	}
	c.Say("listening on " + server.URL())
	return server, nil
}

// Follow opens the source and delivers its events until the run ends.
func (r *Run) Follow(ctx context.Context, open Opener) (err error) {
	defer func() { err = r.CloseState(err) }()
	source, err := open.Open(ctx, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	scope := source.Scope()
	p, err := r.Build(ctx, scope, cancel)
	if err != nil {
		return err
	}
	defer r.sayHidden()
	r.console.Status.Set(func() []string {
		return append([]string{JoinStatus(scope.Status(), r.Status())}, r.output.Problems()...)
	})
	return r.Deliver(ctx, cancel, func() error { return source.Run(ctx, p) }, func(err error) error { return r.end(ctx, err) })
}

// CloseState closes the state file after a run that ended with err.
func (r *Run) CloseState(err error) error {
	s := r.state
	r.state = nil
	return s.Close(err)
}

// Build opens the destination and returns the first of the stages that exist once.
func (r *Run) Build(ctx context.Context, scope *Scope, cancel context.CancelCauseFunc) (event.Sink, error) {
	r.scope = scope
	p := &pipeline{Run: r, ctx: ctx, cancel: cancel}
	if r.layout.isAsync() {
		r.console.Out.Written = new(atomic.Int64)
	}
	output, err := r.to.Open(ctx, r.environment(cancel))
	if err != nil {
		return nil, err
	}
	r.output = output.withDefaults()
	r.note = r.output.Note
	sink, err := p.buildRun()
	if err != nil {
		return nil, err
	}
	r.metrics.Begin(scope.Targets)
	return markLoss(sink), nil
}

// environment is what the destination gets.
func (r *Run) environment(cancel context.CancelCauseFunc) *Environment {
	print := r.cfg.Print
	print.OmitManagedFields = print.Template == nil && (r.needs.ManagedFields || r.scope.IsRecorded()) && !r.cfg.KeepManaged
	r.scope.FillTable(&print.Table)
	print.MultiCluster, print.ClusterNames = print.MultiCluster || r.scope.Clusters != nil, r.scope.ClusterNames()
	return &Environment{
		Console: r.scope.Console, Config: &r.cfg, Scope: r.scope, Print: print, Where: r.where(),
		State: r.state, Metrics: r.metrics, Recordings: r.recordings, Fail: cancel,
	}
}

// Deliver calls watch, which delivers all events to the pipeline, within Output.Around. end says what the end of the watch means.
func (r *Run) Deliver(ctx context.Context, cancel context.CancelCauseFunc, watch func() error, end func(error) error) error {
	return r.output.Around(ctx, cancel, func() error {
		finish := r.startHandover(ctx, cancel)
		err := watch()
		err = r.flushSettled(ctx, cmp.Or(err, finish()))
		r.metrics.SetStopping()
		return end(err)
	})
}

// flushSettled delivers what --settle holds back when the watch has ended with err.
func (r *Run) flushSettled(ctx context.Context, err error) error {
	if r.settling == nil {
		return err
	}
	if failed := r.settling.Flush(ctx); failed != nil && !IsLoss(err) {
		return LossError{failed}
	}
	return err
}

// Status says how much waits to settle, is hidden, or is on its way.
func (r *Run) Status() string {
	return JoinStatus(r.settling.Status(), r.output.Hidden(), r.output.Status())
}

func (r *Run) sayHidden() {
	if hidden := r.output.Hidden(); hidden != "" {
		r.scope.Console.Say(hidden)
	}
}

var errNothingKnown = errors.New("no data for some of the requested resources")

// end returns what a run ends with whose watch ended with err.
func (r *Run) end(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrEnough) && r.pastIncomplete:
		return fail.WithExitCode(fail.ExitIncomplete, errNothingKnown)
	case errors.Is(err, ErrEnough):
		return nil
	case r.condition != nil:
		return r.condition.end(ctx, err)
	case isCountLate(ctx, &r.cfg.Ending) && !IsLoss(err):
		return countNotReached(&r.cfg.Ending, fmt.Sprintf("%d so far", r.printed()))
	}
	return err
}

// ConditionHeld reports whether --until held.
func (r *Run) ConditionHeld() bool { return r.conditionHeld }

// ReplayStatus says how a recorded watch was at the time of the last event.
func (r *Run) ReplayStatus() string {
	if reporter := r.replayed.Load(); reporter != nil {
		return reporter.Status()
	}
	return ""
}

// Printed is how many events the destination got so far.
func (r *Run) Printed() int { return r.printed() }

// watchOptions says how a session is watched for the run.
func (r *Run) watchOptions(s *Session) watcher.Options {
	o := s.WatchOptions()
	o.KeepManagedFields = r.cfg.KeepManaged || r.needs.ManagedFields
	o.Tables, o.FullObjects, o.KeepContent = r.needs.Tables, r.needs.WholeObjects, r.needs.Old
	o.HeartbeatInterval = cmp.Or(r.cfg.HeartbeatEvery(), r.metrics.HeartbeatInterval())
	if r.cfg.Verify > 0 {
		o.VerifyInterval = r.cfg.Verify
		o.OnVerified = func(v watcher.Verification) {
			r.metrics.RecordVerification(v.Target, len(v.Missed), v.Err == nil)
			s.SayVerification(v)
		}
	}
	return o
}

// JoinStatus joins the parts that are not empty.
func JoinStatus(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
