package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/cli/fail"
	"dwatch/cli/lookup"
	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
	"dwatch/watcher/until"
)

const (
	// reportInterval limits how often progress is reported.
	reportInterval = time.Second
	// reevaluateInterval is how often a condition that depends on time is evaluated, if that takes at most a tenth of it.
	reevaluateInterval = time.Second
)

const notServed = "the server does not have the resource"

// conditionStage is the stage of --until and --fail-if: it ends the run when a condition decides, and reports progress. A run without
// conditions has a nil conditionStage, which the methods named after a cluster and holdsWithoutObjects accept.
type conditionStage struct {
	run    *Run
	stage  *until.Stage
	cancel context.CancelCauseFunc // ends the run when something else than an event decides
	causes *causePoller            // nil if progress is not reported, or with --quiet

	loops *crashLoops // nil unless --until ready is decided at a cluster

	mu            sync.Mutex // guards what follows, and stage
	outcome       *until.Outcome
	reevaluation  *time.Timer // evaluates again what depends on time, or nil
	progress      bool        // progress is reported
	last          progressReport
	delayedReport *time.Timer // reports what was too early to report, or nil
	denied        bool        // the resources that may not be read were reported
	ended         bool
	took          time.Duration // until the end

	// finders ask why objects are not ready, by cluster. mu does not guard them: only the poller uses them until it is stopped.
	finders map[string]*lookup.CauseFinder
}

// progressReport is a line about progress, and when it was printed.
type progressReport struct {
	text string
	at   time.Time
}

// newConditionStage returns a conditionStage before next.
func (r *Run) newConditionStage(ctx context.Context, next event.Sink, cancel context.CancelCauseFunc) *conditionStage {
	e := &r.cfg.Ending
	var loops *crashLoops
	var confirm func(*event.Event) bool
	if isWord(e.Until, "ready") && !r.scope.IsRecorded() {
		loops = newCrashLoops(ctx, r)
		confirm = loops.confirm
	}
	stage := until.New(next, r.scope.Targets, until.Options{
		Confirm:    confirm,
		Until:      e.Until.Expression,
		FailIf:     e.FailIf.Expression,
		Awaited:    r.scope.Awaited(),
		Quantifier: e.Quantifier,
		Input:      r.expressionOptions(),
		OnError:    r.warnFailedExpression,
	})
	w := &conditionStage{run: r, stage: stage, progress: e.Until.IsSet() && !r.needs.Interactive && !r.scope.IsRecorded(), cancel: cancel, loops: loops, finders: map[string]*lookup.CauseFinder{}}
	if w.progress && !r.console.IsQuiet() {
		w.causes = newCausePoller(ctx, w)
	}
	return w
}

// missing is what --until waits for since the server does not have the resource.
func (s *Session) missing() (awaited []until.AwaitedTarget) {
	for _, m := range s.Plan.Missing {
		awaited = append(awaited, until.AwaitedTarget{Name: m.Name, Reason: notServed, Matches: m.Matches})
	}
	return awaited
}

func (w *conditionStage) say(line string) { w.run.scope.Console.Say(line) }

// Deliver implements event.Sink.
func (w *conditionStage) Deliver(ctx context.Context, batch []event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outcome != nil {
		return w.outcome
	}
	err := w.stage.Deliver(ctx, batch)
	if err == nil && w.progress {
		w.reportProgress()
	}
	if err == nil && w.reevaluation == nil {
		w.scheduleReevaluation(reevaluateInterval)
	}
	return err
}

// clusterOpened makes --until wait for the resources that a cluster lacks. If nothingPlanned is true, because no namespace of the cluster
// matches, --until does not wait for the cluster any more.
func (w *conditionStage) clusterOpened(cluster string, missing []until.AwaitedTarget, nothingPlanned bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !nothingPlanned {
		w.stage.Awaited = append(w.stage.Awaited, missing...)
		return
	}
	w.stopAwaiting(func(a until.AwaitedTarget) bool { return a.Name == cluster })
}

// clusterJoins makes --until wait for a cluster.
func (w *conditionStage) clusterJoins(cluster until.AwaitedTarget) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stage.Awaited = append(w.stage.Awaited, cluster)
	}
}

// clusterRestarts makes --until wait for a cluster that is connected again, and for nothing else of it.
func (w *conditionStage) clusterRestarts(cluster until.AwaitedTarget) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stage.Awaited = slices.DeleteFunc(w.stage.Awaited, func(a until.AwaitedTarget) bool { return a.Cluster == cluster.Cluster })
		w.stage.Awaited = append(w.stage.Awaited, cluster)
	}
}

// clusterLeaves makes --until not wait for a cluster any more.
func (w *conditionStage) clusterLeaves(cluster string) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stopAwaiting(func(a until.AwaitedTarget) bool { return a.Cluster == cluster })
	}
}

// stopAwaiting removes matching entries from the awaited ones, which may decide the condition. The caller holds w.mu.
func (w *conditionStage) stopAwaiting(matches func(until.AwaitedTarget) bool) {
	if w.outcome == nil && !w.ended {
		if w.outcome = w.stage.StopAwaiting(matches); w.outcome != nil {
			w.cancel(w.outcome)
		}
	}
}

// holdsWithoutObjects reports whether a status event that says that an object does not exist is what --until waits for.
func (w *conditionStage) holdsWithoutObjects(e *event.Event) bool {
	return w != nil && w.stage.HoldsWithoutObjects(e)
}

func (w *conditionStage) scheduleReevaluation(after time.Duration) {
	w.reevaluation = nil
	if w.stage.DependsOnTime() && !w.run.scope.IsRecorded() {
		w.reevaluation = time.AfterFunc(after, w.reevaluate)
	}
}

// reevaluate ends the run if the condition holds, or schedules the next evaluation.
func (w *conditionStage) reevaluate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	began := time.Now()
	switch {
	case w.ended:
		return
	case w.decidedByTime():
		w.cancel(w.outcome)
	default:
		w.scheduleReevaluation(max(reevaluateInterval, 10*time.Since(began)))
	}
}

func (w *conditionStage) decidedByTime() bool {
	if w.outcome == nil {
		w.outcome = w.stage.Reevaluate()
	}
	return w.outcome != nil
}

// reportProgress reports which object the run waits for, and how far that is, if that has changed. If the run waits for several
// objects, it reports at most once in reportInterval. The first interval begins with the start of the run if targets are not synced.
// It does not report objects that do not exist: the reporter does that. If the status of the object does not say why it is not ready,
// the causePoller reports it. The caller holds w.mu.
func (w *conditionStage) reportProgress() {
	p, more := w.firstPending()
	if p == nil {
		return
	}
	last := w.last.at
	if last.IsZero() && p.Unsynced {
		last = w.run.console.Started
	}
	if early := reportInterval - time.Since(last); more > 0 && early > 0 {
		if w.delayedReport == nil {
			w.delayedReport = time.AfterFunc(early, w.reportDelayed)
		}
		return
	}
	if w.causes != nil && needsCause(p.Object) {
		w.causes.wake()
		return
	}
	w.reportWaiting(cmp.Or(w.notYet(*p), w.describe(*p)), more)
}

// firstPending returns the first existing object that the run waits for, and the number of other pending items. It sets Unsynced unless
// all targets are synced. It returns nil if no pending object exists. The caller holds w.mu.
func (w *conditionStage) firstPending() (*until.PendingItem, int) {
	some, more := w.stage.Pending()
	first := slices.IndexFunc(some, func(p until.PendingItem) bool { return !p.Object.IsZero() })
	if first < 0 {
		return nil, 0
	}
	p := some[first]
	p.Unsynced = slices.ContainsFunc(some, func(p until.PendingItem) bool { return p.Unsynced })
	return &p, more + len(some) - 1
}

func (w *conditionStage) reportWaiting(text string, more int) {
	text = "waiting for " + text
	if more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	if text != w.last.text {
		w.say(text)
		w.last = progressReport{text, time.Now()}
	}
}

func (w *conditionStage) reportDelayed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delayedReport = nil
	if !w.ended {
		w.reportProgress()
	}
}

// stop ends the reports and evaluations that events do not cause.
func (w *conditionStage) stop() {
	defer w.causes.stop() // after w.mu is released: it may be about to report
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.took = true, time.Since(w.run.console.Started)
	for _, t := range []*time.Timer{w.delayedReport, w.reevaluation} {
		if t != nil {
			t.Stop()
		}
	}
}

func (w *conditionStage) cause(ctx context.Context, p until.PendingItem) lookup.Cause {
	return w.causeFinder(p.Target.Cluster).FindCause(ctx, p.Object)
}

func (w *conditionStage) causeFinder(cluster string) *lookup.CauseFinder {
	if w.finders[cluster] == nil {
		w.finders[cluster] = w.run.scope.Lookup(cluster).NewCauseFinder(w.run.cfg.Print.Compare.Masks)
	}
	return w.finders[cluster]
}

// describe says what the run waits for, and how far that is.
func (w *conditionStage) describe(p until.PendingItem) string {
	if p.AwaitedName != "" {
		return p.AwaitedName + ": " + cmp.Or(w.run.scope.Unreachable(p.AwaitedName), p.Reason)
	}
	subject := w.run.scope.Subject(p.Target, p.Object)
	switch {
	case p.ConnectionError != nil:
		return subject + ": " + explainLostConnection(p.ConnectionError)
	case p.Unsynced:
		return subject + ": not listed yet"
	case p.Object.IsZero() && p.Target.Name == "":
		return withCluster(p.Target.Cluster, p.Target.Resource().Resource) + ": none exists"
	case p.Object.IsZero():
		return subject + ": does not exist"
	}
	u, err := p.Object.Decode()
	if err != nil {
		return subject
	}
	s := status.OfMasked(u, w.run.cfg.Print.Compare.Masks.MaskObject)
	switch word := s.Word; {
	case word == kstatus.CurrentStatus && w.loops.reason(p.Object) != "":
		return subject + ": " + w.loops.reason(p.Object)
	case word == kstatus.CurrentStatus, word == kstatus.UnknownStatus && !w.asksStatus():
		return subject // the condition is about something else than the status
	case word == kstatus.UnknownStatus:
		return subject + ": " + unknownText(p.Object, s)
	case s.Message != "":
		return subject + " " + word.String() + ": " + s.Message
	}
	return subject + " " + s.Word.String()
}

// asksStatus reports whether --until looks at the status of objects.
func (w *conditionStage) asksStatus() bool {
	if !w.run.cfg.Ending.Until.IsSet() {
		return false
	}
	text := w.run.cfg.Ending.Until.Expression.String()
	return strings.Contains(text, "ready(") || strings.Contains(text, "status(")
}

// explainLostConnection says why the connection of a target is lost. The caller names the target.
func explainLostConnection(err error) string {
	if of, ok := errors.AsType[*event.TargetError](err); ok {
		err = of.Err
	}
	if apierrors.IsForbidden(err) {
		return "denied: " + fail.ExplainDisconnect(err)
	}
	return "connection lost: " + fail.ExplainDisconnect(err)
}
