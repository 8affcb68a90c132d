package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/filter"
	"dwatch/watcher/object/change"
	"dwatch/watcher/settle"
)

// destination is where the events of a run go: behind all stages.
type destination interface {
	// prepare does what needs no server; its errors are wrong usage.
	prepare(c *console) error
	// close undoes it, at the end.
	close()
	// open returns the Sink for what is planned. failed ends the run when that can't go on.
	open(ctx context.Context, w *watching, failed func(error)) (event.Sink, error)
	// around runs watch, with whatever goes on beside it, and returns what both end with.
	around(ctx context.Context, cancel context.CancelCauseFunc, w *watching, watch func() error) error
	// status says how much of what has come has gone where, empty if there is nothing to
	// say; and hidden, at the end, what has not been shown.
	status() string
	hidden() string
	// look says, when that is asked for, what needs a look: a line each.
	look() []string
}

// direct is a destination that needs nothing but its Sink.
type direct struct{}

func (direct) prepare(*console) error { return nil }
func (direct) close()                 {}
func (direct) status() string         { return "" }
func (direct) hidden() string         { return "" }
func (direct) look() []string         { return nil }
func (direct) around(_ context.Context, _ context.CancelCauseFunc, _ *watching, watch func() error) error {
	return watch()
}

// demanding is a destination that says how to watch for it, and at the start what it goes on from.
type demanding interface {
	demand(o *watcher.Options)
	note() string
}

// noter is a Sink that shows what becomes of the watch between the events.
type noter interface {
	Note(at time.Time, text string)
}

// counter is a Sink that counts also what is left out before it.
type counter interface {
	Count(batch []event.Event) error
}

// counting returns a Sink before next, which leaves events out, from which last gets all if it counts them.
func counting(last, next event.Sink) event.Sink {
	c, counts := last.(counter)
	if !counts {
		return next
	}
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if err := c.Count(batch); err != nil {
			return err
		}
		return next.Deliver(ctx, batch)
	})
}

// viewer is a Sink that does not show all events.
type viewer interface{ Shown() int }

// needs is what the events have to have.
type needs struct {
	old           bool // the state before
	managedFields bool
	tables        bool // rows, as the server shows objects
	wholeObjects  bool // beside the rows
	events        bool // those about an object that is looked at
}

// watching is a run that watches: what the command line says of it, and the session that
// it has at a cluster.
type watching struct {
	*session   // nil before the server has answered
	connection *cluster.Flags
	selection
	listen string // HOST:PORT; empty: nowhere
	filter filter.Options
	where  []flags.Condition

	whereLast   bool // the destination looks at where, since it has to know what leaves it
	unevaluated int  // events of which where could not be evaluated, and it was not said yet
	ending      ending
	stateFile   string // empty: none
	metrics     *metrics.Metrics
	heartbeat   time.Duration
	verify      time.Duration // 0: never
	settle      flags.Settle
	settling    *settle.Stage   // nil without it
	print       output.Options  // how events and changes are encoded
	ignored     change.Patterns // by the flag for that
	kept        bool            // the managed fields are
	needs       needs
	fleets      bool // it may be at several clusters
	parallel    int  // goroutines that the destination keeps busy
	lasting     bool // it keeps the processors that there are
	seen        bool // somebody sees the events come
	fold        bool // series of one object's events that came at once into one
	prints      bool // to stdout
	to          destination
	beside      *beside // records what happens, too; nil: nothing does

	past     past
	now      func() time.Time // the clock of a recording; nil: it is the present
	recorded *recordingOf     // it; nil: a cluster is asked
	held     bool             // --until
	printed  func() int       // events so far; nil before they are processed

	term  *lease.Term // it delivers in; nil: there are no replicas, or it stands by
	state *state      // nil without --state
	// digests are what changed() goes by, of what its file has kept; nil: nothing.
	digests *change.Digester
	apart   *apart // nil where no condition is evaluated, or nothing printed
}

// itself is for who has a runner that it is in.
func (w *watching) itself() *watching { return w }

func (w *watching) goesOn() bool { return true }

// conditions are all that look at events.
func (w *watching) conditions() []flags.Condition {
	return slices.Concat(w.where, w.ending.AllConditions())
}

func (w *watching) run(ctx context.Context, c *console) error {
	if err := w.findShard(); err != nil {
		return err
	}
	several := w.connection.HasMultipleContexts()
	if several && !w.fleets {
		return fail.Usage(cluster.ErrMultipleContexts)
	}
	if several { // before anything is made for those that are not there
		if _, err := w.connection.SelectedContexts(w.isPlaced()); err != nil {
			return err
		}
	}
	if err := w.to.prepare(c); err != nil {
		return err
	}
	defer w.to.close()
	defer w.beside.close()
	if err := w.beside.prepare(c); err != nil {
		return err
	}
	server, err := w.startListening(c)
	if err != nil {
		return err
	}
	defer server.Close()
	if several {
		return runFleet(ctx, w, c)
	}
	return c.at(ctx, w.connection, w.ending.Timeout, false, func(ctx context.Context, k *cluster.Cluster) error {
		return w.ending.unanswered(ctx, w.atCluster(ctx, c, k))
	})
}

// startListening answers how the run is from now on, if that is asked for.
func (w *watching) startListening(c *console) (*metrics.Server, error) {
	return c.listen(w.listen, func() (*metrics.Server, error) {
		w.metrics = w.newMetrics(w.verify > 0)
		return metrics.Listen(w.listen, w.metrics)
	})
}

// newMetrics returns what counts; verifies: also what --verify comes to, which is of the process.
func (w *watching) newMetrics(verifies bool) *metrics.Metrics {
	return metrics.New(metrics.Options{Version: orDevel(release), Heartbeat: w.beatEvery(), Verify: verifies})
}

// listen says where a server listens that start returns; nil where it is to listen nowhere. That it can't is wrong usage.
func (c *console) listen(address string, start func() (*metrics.Server, error)) (*metrics.Server, error) {
	if address == "" {
		return nil, nil
	}
	server, err := start()
	if err != nil {
		return nil, fail.Usage(fmt.Errorf("--listen %s: %w", address, err))
	}
	c.say("listening on " + server.URL())
	return server, nil
}

func (w *watching) atCluster(ctx context.Context, c *console, k *cluster.Cluster) (err error) {
	w.request.AwaitsObjects = w.ending.Until.IsSet()
	if w.session, err = c.open(ctx, k, w.selection); err != nil {
		return orWait(err)
	}
	return w.rights.DescribeDenials(ctx, w.follow(ctx))
}

// follow watches what is planned, until that ends.
func (w *watching) follow(ctx context.Context) (err error) {
	if w.state, err = w.openState(ctx); err != nil {
		return err
	}
	defer func() { err = w.state.end(err) }()
	if w.plan.MatchesNoNamespace() {
		w.say("no namespace matches " + w.scope.NamespaceFlag() + " yet; waiting for one")
	}
	o := w.optionsOf(w.session)
	o.Targets = slices.Concat(o.Targets, w.state.orphans(w.plan))
	o.History = w.state.past()
	if d, ok := w.to.(demanding); ok {
		d.demand(&o)
	}
	if err := w.beside.begin(ctx, w, &o); err != nil {
		return err
	}
	watch, err := watcher.New(o)
	if err != nil {
		return err
	}
	if !w.plan.IsDynamic() && !w.lasting {
		tuneRun(len(w.plan.Targets) + w.parallel)
	}
	return w.process(ctx, watch)
}

// optionsOf says how what a session has planned is watched.
func (w *watching) optionsOf(s *session) watcher.Options {
	n := w.needed()
	o := s.watched()
	o.KeepManagedFields = w.kept || n.managedFields
	o.Tables, o.FullObjects, o.KeepContent = n.tables, n.wholeObjects, n.old
	o.HeartbeatInterval = cmp.Or(w.beatEvery(), w.metrics.HeartbeatInterval())
	if w.verify > 0 {
		o.VerifyInterval, o.OnVerified = w.verify, sayVerified(s, w.metrics)
	}
	return o
}

// isPast reports whether a recording is played, and no server is there.
func (w *watching) isPast() bool { return w.now != nil }

// beatEvery is how often a heartbeat is asked for; 0: never.
func (w *watching) beatEvery() time.Duration {
	if w.settle.IsSet() { // whose time passes by them
		return new(w.settleOptions()).HeartbeatInterval()
	}
	return w.heartbeat
}

func (w *watching) settleOptions() settle.Options {
	return settle.Options{QuietPeriod: w.settle.Quiet, MaxWait: w.settle.Max, Compare: w.print.Compare}
}

// members returns which clusters there are, of several; nil: it is one.
func (w *watching) members() func() []event.Cluster {
	if w.recorded.isSeveral() {
		return w.recorded.members
	}
	return w.clusters()
}

// clusterNames are those of several clusters, as far as they are known; nil: it is one.
func (w *watching) clusterNames() []string {
	if all := w.members(); all != nil {
		return event.ClusterNames(all())
	}
	return nil
}

// needed is what the destination and the conditions look at.
func (w *watching) needed() needs {
	n := w.needs
	for _, c := range w.conditions() {
		n.old = n.old || c.Requirements().Old
		n.managedFields = n.managedFields || c.Requirements().ManagedFields
		n.wholeObjects = true
	}
	n.old = n.old || w.settle.IsSet()
	n.wholeObjects = n.wholeObjects || w.object != nil
	n.managedFields = n.managedFields || w.past.isAsked()
	if t := w.print.Template; t != nil {
		n.managedFields = n.managedFields || t.MayRead("metadata", "managedFields")
	}
	return n
}

// showsOld reports whether the state before is printed, or what follows from it.
func (w *watching) showsOld() bool { return w.print.Old || w.print.Changes || w.print.Patch }

// origin is where events come from.
type origin interface {
	// Run delivers all to sink, until there is no more or ctx ends.
	Run(ctx context.Context, sink event.Sink) error
}

// process sends the events through the stages.
func (w *watching) process(ctx context.Context, from origin) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := w.newStages(ctx, cancel)
	if err != nil {
		return err
	}
	defer w.sayHidden()
	about := reporting(w.session, s.note)
	if s.wait != nil {
		about.IsExpected = s.wait.HoldsWithoutObjects
	}
	if w.isPast() { // what the marks say is no news, and nobody can be asked
		about = report.Options{Out: io.Discard, Err: io.Discard, OnStatus: s.note, ResourceNamed: w.namesake}
	}
	run := w.beside.around(from.Run)
	if w.past.ends() && len(w.plan.Targets) == 0 {
		run = ofNothing(s.first)
	}
	reporter := report.New(w.beside.before(s.first), about)
	w.asked.is(func() []string {
		return append([]string{joinStatus(reporter.Status(), w.settling.Status(), w.to.hidden(), w.to.status())}, w.to.look()...)
	})
	return w.watch(ctx, cancel, run, reporter, func(err error) error { return w.end(ctx, s.wait, s.printed, err) })
}

func (w *watching) sayHidden() {
	if hidden := w.to.hidden(); hidden != "" {
		w.say(hidden)
	}
}

// stages are what the events of a run go through once they have been reported on.
type stages struct {
	first   event.Sink
	past    event.Sink              // takes what happened before (--since)
	wait    *wait                   // nil: no condition ends the run
	printed func() int              // events, so far
	note    func(time.Time, string) // shows between the events what becomes of the watch; nil: nothing does
}

// newStages makes the last first.
func (w *watching) newStages(ctx context.Context, cancel context.CancelCauseFunc) (*stages, error) {
	n := w.needed()
	w.print.OmitManagedFields = w.print.Template == nil && (n.managedFields || w.isPast()) && !w.kept
	apart := w.prints && w.ending.HasConditions()
	if apart {
		w.out.written = &atomic.Int64{}
	}
	last, err := w.to.open(ctx, w, cancel)
	if err != nil {
		return nil, err
	}
	s := &stages{}
	sink, printed := counted(last)
	s.printed, w.printed = printed, printed
	if apart {
		w.apart = newApart(ctx, sink, w.out.written, cancel)
		sink = w.apart
	}
	sink = w.metrics.OutputStage(sink)
	if w.fold {
		sink = output.CoalesceEventSeries(sink)
	}
	if !w.whereLast {
		w.filter.Where = w.passing()
	}
	if n, ok := last.(noter); ok {
		s.note = w.apart.noting(n.Note)
	}
	s.past = counting(last, filter.New(sink, w.filter))
	sink = w.past.before(s.past, w, s.note)
	s.first = w.settled(w.state.around(w.sayingUnjudged(sink), cancel, w.settle.IsSet()))
	switch {
	case w.ending.Count > 0:
		s.first = upTo(w.ending.Count, printed, s.first)
	case w.ending.HasConditions():
		s.wait = w.newWait(ctx, s.first, cancel)
		s.first = s.wait
	}
	s.first, err = handingOver(w, s.first)
	return s, err
}

// settled returns a Sink before next, which knows --state, that waits until things are quiet: what waits has
// not been reported.
func (w *watching) settled(next event.Sink) event.Sink {
	if !w.settle.IsSet() {
		return next
	}
	o := w.settleOptions()
	o.Warn = w.warn
	w.settling = settle.New(next, o)
	w.metrics.SetSettleStats(w.settling.Pending)
	return w.settling
}

// settleAll tells at the end of a watch, which ended with err, what waits to be quiet.
func (w *watching) settleAll(ctx context.Context, err error) error {
	if w.settling == nil {
		return err
	}
	if failed := w.settling.Flush(ctx); failed != nil && !isLoss(err) {
		return sinkError{failed}
	}
	return err
}

// watch calls run, until the watch ends and all that it has reported has gone on. end says what
// the end of the watch means, to which that of the destination is added.
func (w *watching) watch(ctx context.Context, cancel context.CancelCauseFunc, run func(context.Context, event.Sink) error, reporter *report.Reporter, end func(error) error) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	targets := w.plan.Targets
	w.metrics.Begin(targets)
	note := w.state.note() + w.about.note() + sharding(ctx, w.session) + w.inCluster()
	if d, ok := w.to.(demanding); ok {
		note += d.note()
	}
	note += w.beside.note()
	reporter.AnnounceTargets(targets, note)
	if !w.request.AllNamespaces && slices.ContainsFunc(targets, event.Target.Namespaced) {
		reporter.ReportMissingNamespaces(asking, w.request.Namespaces)
	}
	w.about.check(asking, w.session, w.selection, reporter)
	checked, wait := checkFields(w.session, fieldsNamed(w), w.warn, w.about.before(reporter))
	return w.to.around(ctx, cancel, w, func() error {
		handedOver := handOver(asking, w, cancel)
		err := run(asking, blamed(&tuned{next: w.metrics.InputStage(checked)}))
		err = w.settleAll(ctx, cmp.Or(err, handedOver()))
		w.metrics.SetStopping()
		stop() // nobody waits for an answer any more
		reporter.Wait()
		wait()
		return end(err)
	})
}

// reporting says where reports go. With --quiet the server is asked nothing for them: the
// few that are left have no details.
func reporting(s *session, note func(time.Time, string)) report.Options {
	o := report.Options{Out: s.reports, Err: s.stderr, OnStatus: note, ResourceNamed: s.namesake, Scope: strings.TrimPrefix(s.about.note(), ",")}
	if shard := s.scope.Shard; !shard.IsAll() {
		o.Scope += " in shard " + shard.String()
	}
	if !s.isQuiet() {
		o.Access, o.SimilarName, o.CheckNamespace = s.rights, s.questions.SimilarName, s.questions.CheckNamespace
	}
	return o
}

// end returns what the run ends with, that ended with err.
func (w *watching) end(ctx context.Context, wait *wait, printed func() int, err error) error {
	switch {
	case errors.Is(err, errEnough) && w.past.unlisted:
		return fail.WithExitCode(fail.ExitIncomplete, errors.New("of some of what was asked for nothing is known"))
	case errors.Is(err, errEnough):
		return nil
	case wait != nil:
		return wait.end(ctx, err)
	case w.ending.isLate(ctx) && !isLoss(err):
		return w.ending.tooFew(fmt.Sprintf("%d so far", printed()))
	}
	return err
}

func joinStatus(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// inCluster names the cluster to who sees what happens there.
func (w *watching) inCluster() string {
	if !w.seen || !w.prints || w.connection.HasMultipleContexts() || w.Cluster == nil {
		return ""
	}
	return ", cluster " + output.EscapeLine(w.DisplayName())
}
