package run

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

// Watch returns an Opener for the clusters that a connection selects.
func Watch(connection *cluster.Flags, of Selection) Opener {
	if !connection.HasMultipleContexts() {
		return Opener{Open: openCluster}
	}
	check := func() error {
		_, err := connection.SelectedContexts(of.NamesNamespaces())
		return err
	}
	return Opener{Check: check, Open: openClusters}
}

// openCluster connects to the only cluster.
func openCluster(ctx context.Context, r *Run) (Source, error) {
	k, err := r.cfg.Connection.Connect(r.console.Connection())
	if err != nil {
		return nil, err
	}
	return r.OpenCluster(ctx, k)
}

// Connected returns an Opener for a cluster that is connected.
func Connected(k *cluster.Cluster) Opener {
	return Opener{Open: func(ctx context.Context, r *Run) (Source, error) { return r.OpenCluster(ctx, k) }}
}

// OpenCluster opens a session at a connected cluster, the state file, and the recording.
func (r *Run) OpenCluster(ctx context.Context, k *cluster.Cluster) (Source, error) {
	of := r.cfg.Selection
	of.Request.AwaitsObjects = r.cfg.Ending.Until.IsSet()
	s, err := OpenSession(ctx, r.console, k, of)
	if err != nil {
		return nil, SuggestWait(err)
	}
	r.session = s
	source := &clusterSource{run: r, session: s, scope: s.Scope()}
	source.scope.Status = source.status
	if err := source.open(ctx); err != nil {
		return nil, s.Rights.DescribeDenials(ctx, err)
	}
	return source, nil
}

// clusterSource watches one cluster.
type clusterSource struct {
	run      *Run
	session  *Session
	scope    *Scope
	watcher  *watcher.Watcher
	recorder *recorder // nil if nothing is recorded

	mu       sync.Mutex
	reporter *report.Reporter // nil until Run has begun
}

// open opens what the watch continues from and records into.
func (c *clusterSource) open(ctx context.Context) (err error) {
	r, s := c.run, c.session
	if r.state, err = r.openState(ctx, s); err != nil {
		return err
	}
	if s.Plan.MatchesNoNamespace() {
		s.Console.Say("no namespace matches " + s.Request.NamespaceFlag() + " yet; waiting for one")
	}
	o := r.watchOptions(s)
	o.Targets = slices.Concat(o.Targets, r.state.OrphanedTargets(s.Plan))
	o.History = r.state.History()
	if c.recorder, err = r.recordings.forCluster(s.Console, ""); err != nil {
		return err
	}
	if c.recorder != nil {
		if err := c.recorder.begin(ctx, s, &o); err != nil {
			return err
		}
	}
	if c.watcher, err = watcher.New(o); err != nil {
		return err
	}
	if !s.Plan.IsDynamic() && !r.needs.Lasting {
		TuneTargets(len(s.Plan.Targets) + r.needs.Workers)
	}
	return nil
}

// Scope implements Source.
func (c *clusterSource) Scope() *Scope { return c.scope }

func (c *clusterSource) status() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporter == nil {
		return "connecting"
	}
	return c.reporter.Status()
}

// Run implements Source.
func (c *clusterSource) Run(ctx context.Context, sink event.Sink) error {
	s, r := c.session, c.run
	asking, stop := context.WithCancel(ctx)
	defer stop()
	of := &clusterPipeline{session: s, warn: s.Console.Warn, report: reportOptions(s, r.note), recorder: c.recorder}
	of.report.IsExpected = r.condition.holdsWithoutObjects
	head, err := (&pipeline{Run: r, ctx: ctx}).buildCluster(of, sink)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.reporter = of.reporter
	c.mu.Unlock()
	targets := s.Plan.Targets
	of.reporter.AnnounceTargets(targets, r.state.Note()+s.subject.note()+shardNote(ctx, s)+c.clusterNote()+c.recorder.note())
	if !s.Request.AllNamespaces && slices.ContainsFunc(targets, event.Target.Namespaced) {
		of.reporter.ReportMissingNamespaces(asking, s.Request.Namespaces)
	}
	s.subject.check(asking, s, r.cfg.Selection, of.reporter)
	if r.cfg.OnlyPast() && len(targets) == 0 {
		err = sink.Deliver(ctx, nil) // there is nothing to wait for
	} else {
		err = c.watcher.Run(asking, markLoss(head))
	}
	err = c.recorder.end(ctx, err)
	stop()
	of.reporter.Wait() // Rights are not safe for concurrent use
	for _, wait := range of.waits {
		wait()
	}
	return s.Rights.DescribeDenials(ctx, err)
}

// clusterNote names the context, or the server if there is none, to a person who sees what happens there.
func (c *clusterSource) clusterNote() string {
	if !c.run.needs.Interactive || !c.run.needs.Stdout {
		return ""
	}
	if c.session.Cluster.Context == "" {
		return ", server " + output.EscapeLine(c.session.Cluster.Host)
	}
	return ", context " + output.EscapeLine(c.session.Cluster.Context)
}

// reportOptions says where the status of a session is reported. With --quiet the server is not asked for details.
func reportOptions(s *Session, note func(time.Time, string)) report.Options {
	o := report.Options{Out: s.Console.Reports, Err: s.Console.Err, OnStatus: note, ResourceNamed: s.namesake, Scope: strings.TrimPrefix(s.subject.note(), ",")}
	if shard := s.Request.Shard; !shard.IsAll() {
		o.Scope += " in shard " + shard.String()
	}
	if !s.Console.IsQuiet() {
		o.Access, o.SimilarName, o.CheckNamespace = s.Rights, s.Lookup.SimilarName, s.Lookup.CheckNamespace
	}
	return o
}

// Replay builds the stages of a recorded cluster before sink and calls play with the first one. Recorded status events are shown
// between the events, if the destination does that, and not on stderr: they are no news.
func (r *Run) Replay(ctx context.Context, s *Session, sink event.Sink, play func(event.Sink) error) error {
	of := &clusterPipeline{session: s, report: report.Options{Out: io.Discard, Err: io.Discard, OnStatus: r.note, ResourceNamed: s.namesake}}
	of.report.IsExpected = r.condition.holdsWithoutObjects
	head, err := (&pipeline{Run: r, ctx: ctx}).buildCluster(of, sink)
	if err != nil {
		return err
	}
	r.replayed.Store(of.reporter)
	of.reporter.AnnounceTargets(s.Plan.Targets, "")
	defer of.reporter.Wait()
	return play(markLoss(head))
}
