package run

import (
	"context"
	"slices"
	"sync/atomic"

	"dwatch/cli/report"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

// SharedWatch is a watch whose events go to several runs. It reports the status and applies --for, and the runs do not (Subscribe).
type SharedWatch struct {
	Session *Session
	// Selection is the selection of one of the runs. It matters only with --for, and then there is only one run.
	Selection Selection
	// Namespaces are checked for existence.
	Namespaces []string
	reporter   atomic.Pointer[report.Reporter]
}

// Run watches once, until ctx ends or the watch fails. observe gets each batch first.
func (w *SharedWatch) Run(ctx context.Context, o watcher.Options, observe func([]event.Event), sink event.Sink) error {
	watch, err := watcher.New(o)
	if err != nil {
		return err
	}
	s := w.Session
	asking, stop := context.WithCancel(ctx)
	defer stop()
	reporter := report.New(sink, reportOptions(s, nil))
	if w.reporter.Swap(reporter) == nil {
		reporter.AnnounceTargets(o.Targets, s.subject.note()+shardNote(ctx, s))
	} else {
		reporter.SetTargets(o.Targets)
	}
	if slices.ContainsFunc(o.Targets, event.Target.Namespaced) {
		reporter.ReportMissingNamespaces(asking, w.Namespaces)
	}
	s.subject.check(asking, s, w.Selection, reporter)
	head := markLoss(tuneAfterStart(runGC, s.subject.filter(reporter)))
	err = watch.Run(asking, event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		observe(batch)
		return head.Deliver(ctx, batch)
	}))
	stop()
	reporter.Wait() // Rights are not safe for concurrent use
	return s.Rights.DescribeDenials(ctx, err)
}

// Status says how the watch is.
func (w *SharedWatch) Status() string {
	if reporter := w.reporter.Load(); reporter != nil {
		return reporter.Status()
	}
	return "connecting"
}

// Subscribe opens the state file and the destination of a run whose events come from a SharedWatch, and returns its first stage. wait
// waits for questions to the server.
func (r *Run) Subscribe(ctx context.Context, s *Session, cancel context.CancelCauseFunc) (sink event.Sink, wait func(), err error) {
	r.session, r.layout.Subscribed = s, true
	if r.state, err = r.openState(ctx, s); err != nil {
		return nil, nil, err
	}
	if s.Plan.MatchesNoNamespace() {
		s.Console.Say("no namespace matches " + s.Request.NamespaceFlag() + " yet; waiting for one")
	}
	shared, err := r.Build(ctx, s.Scope(), cancel)
	if err != nil {
		return nil, nil, err
	}
	of := &clusterPipeline{session: s, warn: s.Console.Warn}
	sink, err = (&pipeline{Run: r, ctx: ctx, cancel: cancel}).buildCluster(of, shared)
	return sink, func() {
		for _, wait := range of.waits {
			wait()
		}
	}, err
}

// NeedsManagedFields reports whether the run needs metadata.managedFields.
func (r *Run) NeedsManagedFields() bool { return r.cfg.KeepManaged || r.needs.ManagedFields }

// GetsManagedFields says that the events have metadata.managedFields, since another run needs them. It is called before Subscribe.
func (r *Run) GetsManagedFields() { r.needs.ManagedFields = true }
