package cli

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
	// progressEvery keeps what is said on the way from drowning all else.
	progressEvery = time.Second
	// againEvery is how often it is looked whether time has decided, if that takes no more
	// than a tenth of it.
	againEvery = time.Second
)

const notServed = "the server does not have the resource"

// wait is a run that a condition ends: a Sink that knows why.
type wait struct {
	*watching
	*until.Stage
	progress bool   // it is said on the way what is waited for
	said     string // last
	saidAt   time.Time
	denied   bool // it was said what may not be asked for

	again   *time.Timer             // evaluates again what the present is looked at for, or nil
	outcome *until.Outcome          // what that has decided
	cancel  context.CancelCauseFunc // ends the run then

	why    map[string]*lookup.CauseFinder // by cluster
	causes *causes                        // nil: they are not asked for on the way; until they are stopped they use why

	mu    sync.Mutex  // of all that is above, but why and causes
	due   *time.Timer // says what was too early to say; nil while nothing was
	ended bool
	took  time.Duration // until it ended
}

// newWait returns a wait before next, for what is planned, that ends the run by cancel where
// no event does.
func (w *watching) newWait(ctx context.Context, next event.Sink, cancel context.CancelCauseFunc) *wait {
	c := &w.ending
	var awaited []until.AwaitedTarget
	for _, m := range w.plan.Missing {
		awaited = append(awaited, until.AwaitedTarget{Name: m.Name, Reason: notServed, Matches: m.Matches})
	}
	stage := until.New(next, w.plan.Targets, until.Options{
		Until:      c.Until.Expression,
		FailIf:     c.FailIf.Expression,
		Awaited:    slices.Concat(awaited, w.fleet.awaited()),
		Quantifier: c.Quantifier,
		Input:      w.input(),
		OnError:    w.sayMistake,
	})
	wait := &wait{watching: w, Stage: stage, progress: c.Until.IsSet() && !w.seen && !w.isPast(), cancel: cancel, why: map[string]*lookup.CauseFinder{}}
	if wait.progress && !w.isQuiet() {
		wait.causes = askForCauses(ctx, wait)
	}
	return wait
}

func (w *wait) Deliver(ctx context.Context, batch []event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outcome != nil {
		return w.outcome
	}
	err := w.Stage.Deliver(ctx, batch)
	if err == nil && w.progress {
		w.sayProgress()
	}
	if err == nil && w.again == nil {
		w.planAgain(againEvery)
	}
	return err
}

// opened has --until wait for what a cluster that has answered does not have; and for the cluster as
// a whole no more if nothing is watched there, since nothing is to be.
func (w *wait) opened(cluster string, missing []until.AwaitedTarget, nowhere bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !nowhere {
		w.Awaited = append(w.Awaited, missing...)
		return
	}
	w.settle(func(a until.AwaitedTarget) bool { return a.Name == cluster })
}

// joins has --until wait for a cluster that is asked for from now on, and leaves has it not wait for one any more.
func (w *wait) joins(cluster until.AwaitedTarget) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Awaited = append(w.Awaited, cluster)
	}
}

// rejoins has --until wait for a cluster that begins anew, and for nothing else of it.
func (w *wait) rejoins(cluster until.AwaitedTarget) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Awaited = slices.DeleteFunc(w.Awaited, func(a until.AwaitedTarget) bool { return a.Cluster == cluster.Cluster })
		w.Awaited = append(w.Awaited, cluster)
	}
}

func (w *wait) leaves(cluster string) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.settle(func(a until.AwaitedTarget) bool { return a.Cluster == cluster })
	}
}

// settle has something no longer be awaited, which may decide.
func (w *wait) settle(is func(until.AwaitedTarget) bool) {
	if w.outcome == nil && !w.ended {
		if w.outcome = w.StopAwaiting(is); w.outcome != nil {
			w.cancel(w.outcome)
		}
	}
}

func (w *wait) planAgain(after time.Duration) {
	w.again = nil
	if w.DependsOnTime() && !w.isPast() {
		w.again = time.AfterFunc(after, w.judgeAgain)
	}
}

// judgeAgain ends the run if time has decided, and else looks again later.
func (w *wait) judgeAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	began := time.Now()
	switch {
	case w.ended:
		return
	case w.byTime():
		w.cancel(w.outcome)
	default:
		w.planAgain(max(againEvery, 10*time.Since(began)))
	}
}

func (w *wait) byTime() bool {
	if w.outcome == nil {
		w.outcome = w.Reevaluate()
	}
	return w.outcome != nil
}

// sayProgress says which object is waited for, and how far it is, when that is something
// else than before; of several not too often, and at the start not before it is known
// what exists. What does not exist the reporter says. Of an object that does not say itself
// why it is not ready it is said when the server has been asked for that.
func (w *wait) sayProgress() {
	p, more := w.firstPending()
	if p == nil {
		return
	}
	last := w.saidAt
	if last.IsZero() && p.Unsynced {
		last = w.started
	}
	if early := progressEvery - time.Since(last); more > 0 && early > 0 {
		if w.due == nil {
			w.due = time.AfterFunc(early, w.sayDue)
		}
		return
	}
	if w.causes != nil && needsCause(p.Object) {
		w.causes.wake()
		return
	}
	w.sayWaiting(cmp.Or(w.notYet(*p), w.describe(*p)), more)
}

// firstPending is the first object that is waited for, and how much there is besides; Unsynced
// says that of any of it what exists is not known yet.
func (w *wait) firstPending() (*until.PendingItem, int) {
	some, more := w.Pending()
	first := slices.IndexFunc(some, func(p until.PendingItem) bool { return !p.Object.IsZero() })
	if first < 0 {
		return nil, 0
	}
	p := some[first]
	p.Unsynced = slices.ContainsFunc(some, func(p until.PendingItem) bool { return p.Unsynced })
	return &p, more + len(some) - 1
}

func (w *wait) sayWaiting(text string, more int) {
	text = "waiting for " + text
	if more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	if text != w.said {
		w.say(text)
		w.said, w.saidAt = text, time.Now()
	}
}

func (w *wait) sayDue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = nil
	if !w.ended {
		w.sayProgress()
	}
}

func (w *wait) stop() {
	defer w.causes.stop() // which may be about to say something
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.took = true, time.Since(w.started)
	for _, t := range []*time.Timer{w.due, w.again} {
		if t != nil {
			t.Stop()
		}
	}
}

// cause asks why an object is not ready, at its cluster.
func (w *wait) cause(ctx context.Context, p until.PendingItem) lookup.Cause {
	return w.causesAt(p.Target.Cluster).FindCause(ctx, p.Object)
}

func (w *wait) causesAt(cluster string) *lookup.CauseFinder {
	if w.why[cluster] == nil {
		w.why[cluster] = w.asks(cluster).NewCauseFinder(w.print.Compare.Masks)
	}
	return w.why[cluster]
}

// describe says what is waited for, and how far that is.
func (w *wait) describe(p until.PendingItem) string {
	if p.AwaitedName != "" {
		return p.AwaitedName + ": " + cmp.Or(w.fleet.whyNot(p.AwaitedName), p.Reason)
	}
	subject := w.subject(p.Target, p.Object)
	switch {
	case p.ConnectionError != nil:
		return subject + ": " + lossText(p.ConnectionError)
	case p.Unsynced:
		return subject + ": what exists is not known yet"
	case p.Object.IsZero() && p.Target.Name == "":
		return within(p.Target.Cluster, p.Target.Resource().Resource) + ": none exists"
	case p.Object.IsZero():
		return subject + ": does not exist"
	}
	u, err := p.Object.Decode()
	if err != nil {
		return subject
	}
	s := status.OfMasked(u, w.print.Compare.Masks.MaskObject)
	switch word := s.Word; {
	case word == kstatus.CurrentStatus, word == kstatus.UnknownStatus && !w.asksStatus():
		return subject // what is waited for is not what its status is about
	case word == kstatus.UnknownStatus:
		return subject + ": " + unknownText(p.Object, s)
	case s.Message != "":
		return subject + " " + word.String() + ": " + s.Message
	}
	return subject + " " + s.Word.String()
}

// asksStatus reports whether --until asks in what state an object is.
func (w *wait) asksStatus() bool {
	if !w.ending.Until.IsSet() {
		return false
	}
	text := w.ending.Until.Expression.String()
	return strings.Contains(text, "ready(") || strings.Contains(text, "status(")
}

// lossText says why there is no connection for a target, which is named before it.
func lossText(err error) string {
	if of, ok := errors.AsType[*event.TargetError](err); ok {
		err = of.Err
	}
	if apierrors.IsForbidden(err) {
		return "denied: " + fail.ExplainDisconnect(err)
	}
	return "connection lost: " + fail.ExplainDisconnect(err)
}
