package run

import (
	"context"
	"slices"

	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/filter"
	"dwatch/watcher/settle"
)

// stages are all steps between a source and a destination, in the order in which an event passes them.
//
// The stages up to merge exist once for each cluster, and run in the goroutine of its watch. The others exist once.
//
// build goes through the slice backwards, so a stage may read fields of pipeline that a later stage sets. "printed" must be the last
// one: it sets pipeline.printed, which "count" reads when it is built.
//
// No stage below "state" may queue events, or the state file would contain events that were not delivered. "async" queues: it needs
// --until or --fail-if, which cannot be combined with --state (flags.StopConditions.Check).
var stages = []Stage{
	{"fields", Layout.namesFields, (*pipeline).checkFields},               // warns about fields in flags that no object can have
	{"cluster", Layout.hasClusters, (*pipeline).nameCluster},              // adds the name of the cluster to each event
	{"subject", Layout.hasSubject, (*pipeline).filterSubject},             // --for: drops what does not belong to the object
	{"past of cluster", Layout.hasClusterPast, (*pipeline).addPast},       // --since with several clusters
	{"report", Layout.reports, (*pipeline).report},                        // connection status to stderr
	{"record", Layout.records, (*pipeline).record},                        // dwatch record, --record
	{"merge", Layout.hasClusters, (*pipeline).merge},                      // several clusters: one batch at a time
	{"tune", always, (*pipeline).tune},                                    // garbage collector settings after the first batch
	{"input metrics", Layout.hasMetrics, (*pipeline).measureInput},        // --listen
	{"handover", Layout.hasHandover, (*pipeline).handOver},                // --state: objects of other shards
	{"count", Layout.hasCount, (*pipeline).stopAtCount},                   // --count
	{"condition", Layout.hasConditions, (*pipeline).evaluate},             // --until, --fail-if
	{"settle", Layout.settles, (*pipeline).settle},                        // --settle: waits until an object is quiet
	{"state", Layout.hasState, (*pipeline).remember},                      // --state: checkpoint
	{"unevaluated", Layout.mayNotEvaluate, (*pipeline).reportUnevaluated}, // --state with --where: what could not be evaluated
	{"past", Layout.hasPast, (*pipeline).addPastOfOnlyCluster},            // --since, --before
	{"count all", Layout.countsAll, (*pipeline).countAll},                 // counts what the filter drops
	{"filter", always, (*pipeline).filter},                                // --where, --watch-only, ...
	{"fold", Layout.folds, (*pipeline).fold},                              // repeated Events of a batch become one
	{"output metrics", Layout.hasMetrics, (*pipeline).measureOutput},      // --listen
	{"async", Layout.isAsync, (*pipeline).writeAsync},                     // a condition can end the run while the reader of stdout is stuck
	{"printed", always, (*pipeline).countPrinted},                         // how many events the destination got
}

// Stage is one step of a pipeline.
type Stage struct {
	Name    string
	Enabled func(Layout) bool
	// Wrap returns a Sink that passes on to next what the stage lets pass.
	Wrap func(*pipeline, event.Sink) (event.Sink, error)
}

// merged is the stage at which the events of several clusters come together.
const merged = "merge"

// Layout decides which stages a pipeline has. Its fields are the facts that Stage.Enabled reads.
type Layout struct {
	*Config
	Requirements
	Clusters   bool // there are several
	Recorded   bool // the source is a recording
	Metrics    bool // the run is measured
	Subscribed bool // the source is a watch that several rules share, which filters and reports by itself
}

// StageNames returns the names of the stages that l has, in order.
func (l Layout) StageNames() (names []string) {
	for _, s := range stages {
		if s.Enabled(l) {
			names = append(names, s.Name)
		}
	}
	return names
}

// pipeline is what the stages of a run have in common. ofCluster is set for the stages of one cluster. It embeds Run because
// each stage is a method that reads the configuration of the run.
type pipeline struct {
	*Run
	ctx       context.Context
	cancel    context.CancelCauseFunc
	ofCluster *clusterPipeline
}

// clusterPipeline is what the stages of one cluster know.
type clusterPipeline struct {
	session  *Session
	name     string           // of one of several clusters, or empty
	warn     func(string)     // warns once, if several clusters cause the same warning
	answered func()           // is called with the first event, or nil
	past     *clusterPast     // with --since and several clusters, or nil
	report   report.Options   // how status is reported
	recorder *recorder        // nil if nothing is recorded
	reporter *report.Reporter // set by the stage "report"
	waits    []func()         // wait for questions to the server
}

// build wraps next by the enabled stages of all, the last one first.
func (p *pipeline) build(all []Stage, next event.Sink) (event.Sink, error) {
	for _, s := range slices.Backward(all) {
		if !s.Enabled(p.layout) {
			continue
		}
		var err error
		if next, err = s.Wrap(p, next); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// buildRun builds the stages that exist once.
func (p *pipeline) buildRun() (event.Sink, error) {
	at := slices.IndexFunc(stages, func(s Stage) bool { return s.Name == merged })
	return p.build(stages[at+1:], p.output.Sink)
}

// buildCluster builds the stages of one cluster before the shared ones.
func (p *pipeline) buildCluster(of *clusterPipeline, shared event.Sink) (event.Sink, error) {
	own := *p
	own.ofCluster = of
	at := slices.IndexFunc(stages, func(s Stage) bool { return s.Name == merged })
	return own.build(stages[:at], shared)
}

func always(Layout) bool { return true }

func (l Layout) namesFields() bool { return !l.Recorded && len(l.Config.namedFields()) > 0 }

func (p *pipeline) checkFields(next event.Sink) (event.Sink, error) {
	sink, wait := checkFields(p.ofCluster.session, p.cfg.namedFields(), p.ofCluster.warn, next)
	p.ofCluster.waits = append(p.ofCluster.waits, wait)
	return sink, nil
}

func (l Layout) hasClusters() bool { return l.Clusters && !l.Recorded }

func (p *pipeline) nameCluster(next event.Sink) (event.Sink, error) {
	of, answered := p.ofCluster, false
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for i := range batch {
			batch[i].Target.Cluster = of.name
			if !answered && batch[i].Type != event.Heartbeat {
				answered = true
				of.answered()
			}
		}
		return next.Deliver(ctx, batch)
	}), nil
}

func (l Layout) hasSubject() bool {
	return l.Selection.Object != nil && !l.Recorded && !l.Subscribed
}

func (p *pipeline) filterSubject(next event.Sink) (event.Sink, error) {
	return p.ofCluster.session.subject.filter(next), nil
}

func (l Layout) hasClusterPast() bool { return l.Clusters && !l.Recorded && l.AsksPast() }

func (p *pipeline) addPast(next event.Sink) (event.Sink, error) {
	p.ofCluster.past.next = next
	return p.ofCluster.past, nil
}

func (l Layout) reports() bool { return !l.Subscribed }

func (p *pipeline) report(next event.Sink) (event.Sink, error) {
	p.ofCluster.reporter = report.New(next, p.ofCluster.report)
	return p.ofCluster.reporter, nil
}

func (l Layout) records() bool { return l.Recording.Dir != "" }

func (p *pipeline) record(next event.Sink) (event.Sink, error) {
	return p.ofCluster.recorder.stage(next), nil
}

// merge is part of the source (clusters.Deliver), since clusters come and go while the rest of the pipeline stays.
func (p *pipeline) merge(next event.Sink) (event.Sink, error) { return next, nil }

func (p *pipeline) tune(next event.Sink) (event.Sink, error) {
	if p.layout.Clusters {
		return tuneAfterStart(clustersGC, next), nil
	}
	return tuneAfterStart(runGC, next), nil
}

func (l Layout) hasMetrics() bool { return l.Metrics }

func (p *pipeline) measureInput(next event.Sink) (event.Sink, error) {
	measured := p.metrics.InputStage(next)
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if len(batch) == 0 { // the end of a run with --before that has no targets
			return next.Deliver(ctx, batch)
		}
		return measured.Deliver(ctx, batch)
	}), nil
}

func (l Layout) hasHandover() bool { return l.StateFile != "" && !l.Clusters }

func (p *pipeline) handOver(next event.Sink) (event.Sink, error) { return p.newHandover(next) }

func (l Layout) hasCount() bool { return l.Ending.Count > 0 }

func (p *pipeline) stopAtCount(next event.Sink) (event.Sink, error) {
	return stopAfter(p.cfg.Ending.Count, p.printed, next), nil
}

func (l Layout) hasConditions() bool { return l.Ending.Count == 0 && l.Ending.HasConditions() }

func (p *pipeline) evaluate(next event.Sink) (event.Sink, error) {
	p.condition = p.newConditionStage(p.ctx, next, p.cancel)
	return p.condition, nil
}

func (l Layout) settles() bool { return l.Settle.IsSet() }

func (p *pipeline) settle(next event.Sink) (event.Sink, error) {
	o := p.cfg.settleOptions()
	o.Warn = p.scope.Console.Warn
	p.settling = settle.New(next, o)
	p.metrics.SetSettleStats(p.settling.Pending)
	return p.settling, nil
}

func (l Layout) hasState() bool { return l.StateFile != "" }

func (p *pipeline) remember(next event.Sink) (event.Sink, error) {
	return p.state.newStage(next, p.cancel, p.layout.settles()), nil
}

func (l Layout) mayNotEvaluate() bool { return l.StateFile != "" && len(l.Where) > 0 }

func (p *pipeline) reportUnevaluated(next event.Sink) (event.Sink, error) {
	return p.warnUnevaluated(next), nil
}

func (l Layout) hasPast() bool { return !l.Recorded && l.AsksPast() }

func (p *pipeline) addPastOfOnlyCluster(next event.Sink) (event.Sink, error) {
	if p.layout.Clusters { // each cluster adds its own past here
		p.pastSink = next
		return p.dropPresent(next), nil
	}
	return p.newSinceStage(next), nil
}

func (l Layout) countsAll() bool { return l.CountsAll }

func (p *pipeline) countAll(next event.Sink) (event.Sink, error) {
	return countBefore(p.output.Count, next), nil
}

func (p *pipeline) filter(next event.Sink) (event.Sink, error) {
	o := p.cfg.Filter
	if !p.layout.OwnWhere {
		o.Where = p.where()
	}
	return filter.New(next, o), nil
}

func (l Layout) folds() bool { return l.FoldSeries }

func (p *pipeline) fold(next event.Sink) (event.Sink, error) {
	return output.CoalesceEventSeries(next), nil
}

func (p *pipeline) measureOutput(next event.Sink) (event.Sink, error) {
	return p.metrics.OutputStage(next), nil
}

func (l Layout) isAsync() bool { return l.Stdout && l.Ending.HasConditions() }

func (p *pipeline) writeAsync(next event.Sink) (event.Sink, error) {
	p.async = newAsyncWriter(p.ctx, next, p.console.Out.Written, p.cancel)
	p.note = p.async.queueNotes(p.output.Note)
	return p.async, nil
}

func (p *pipeline) countPrinted(next event.Sink) (event.Sink, error) {
	if p.output.Shown != nil {
		p.printed = p.output.Shown
		return next, nil
	}
	next, p.printed = CountPrinted(next)
	return next, nil
}
