package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lookup"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/until"
)

const maxPending = 5 // how many pending objects the last message names

// end returns what the run ends with after its watch ended with err.
func (w *conditionStage) end(ctx context.Context, err error) error {
	w.stop()
	outcome, decided := errors.AsType[*until.Outcome](err)
	timeout := errors.Is(context.Cause(ctx), ErrTimeout)
	if err == nil && (w.outcome != nil || timeout && w.decidedByTime()) {
		outcome, decided = w.outcome, true
	}
	unread, unwritten := w.run.async.finish(decided || timeout)
	switch {
	case unread != "":
		w.run.scope.Console.Warn(unread)
	case unwritten != nil && decided:
		outcome.Undelivered = unwritten
	case unwritten != nil && err == nil:
		err = LossError{unwritten}
	}
	e := &w.run.cfg.Ending
	switch {
	case decided && outcome.Undelivered != nil && !console.IsReaderGone(outcome.Undelivered):
		return LossError{outcome.Undelivered}
	case decided && !w.run.scope.isProven(outcome):
		return fail.WithExitCode(fail.ExitIncomplete, fmt.Errorf("the recording does not prove whether %s held %s: use a --since that it covers", decisive(e, outcome), w.when()))
	case decided && outcome.Failed:
		return w.failed(ctx, outcome.Event)
	case decided:
		w.run.conditionHeld = true
		w.say(w.heldText(outcome))
		return nil
	case !e.Until.IsSet(), !console.IsReaderGone(err) && (ctx.Err() == nil || IsLoss(err)):
		return err
	}
	code, message := undecided(ctx, e, err)
	return fail.WithExitCode(code, w.unmet(ctx, message, code == fail.ExitTimeout))
}

// failed is the error of --fail-if, which holds for e.
func (w *conditionStage) failed(ctx context.Context, e event.Event) error {
	subject := w.run.scope.Subject(e.Target, e.Object)
	if e.Type == event.Deleted {
		subject += " deleted"
	} else {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookup.Timeout)
		defer cancel()
		pending := until.PendingItem{Target: e.Target, Object: e.Object}
		var pod *unstructured.Unstructured
		subject, pod = w.explain(asking, pending)
		logging, end := logsContext(ctx)
		defer end()
		w.reportLogs(logging, []until.PendingItem{pending}, []*unstructured.Unstructured{pod})
	}
	return fail.WithExitCode(fail.ExitFailIf, errors.New(w.failedText(w.run.scope.Subject(e.Target, e.Object), subject)))
}

// decisive returns the condition that decided.
func decisive(e *flags.StopConditions, o *until.Outcome) flags.Condition {
	if o.Failed {
		return e.FailIf
	}
	return e.Until
}

// when says when the condition was decided.
func (w *conditionStage) when() string {
	if w.run.scope.IsRecorded() {
		return "at " + output.FormatTimeMillis(w.run.scope.Now(), time.Now(), w.run.cfg.Print.Timestamps)
	}
	return "after " + w.elapsed()
}

// decider names the object that decided, or the number of objects.
func (w *conditionStage) decider(o *until.Outcome) string {
	switch {
	case o.ObjectCount > 1:
		return fmt.Sprintf("%d objects", o.ObjectCount)
	case o.Object.Name == "":
		return "all " + o.Object.Resource().Resource
	default:
		return w.run.scope.Subject(o.Object, event.Object{})
	}
}

// elapsed is how long the run took, rounded for people.
func (w *conditionStage) elapsed() string {
	d, precision := w.took, time.Second
	switch {
	case d < time.Second:
		precision = 10 * time.Millisecond
	case d < 10*time.Second:
		precision = 100 * time.Millisecond
	}
	return d.Round(precision).String()
}

// unmet is the error of a condition that did not hold: message, and the pending objects. If withLogs is set, it also prints the logs of
// failed containers.
func (w *conditionStage) unmet(ctx context.Context, message string, withLogs bool) error {
	some, more := w.stage.Pending()
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookup.Timeout)
	defer cancel()
	total := len(some) + more
	isOne := total == 1 && len(some) == 1
	notReady := withLogs && !w.run.scope.IsRecorded() && isWord(w.run.cfg.Ending.Until, "ready")
	if notReady && !isOne {
		message = fmt.Sprintf("%d not ready after %s", total, shortDuration(w.run.cfg.Ending.Timeout))
	}
	if len(some) > maxPending {
		some, more = some[:maxPending], more+len(some)-maxPending
	}
	lines, pods := []error{errors.New(message)}, make([]*unstructured.Unstructured, len(some))
	for i, p := range some {
		var text string
		if text = w.notYet(p); text == "" {
			text, pods[i] = w.explain(asking, p)
		}
		lines = append(lines, errors.New("waiting for "+text))
		switch {
		case isOne && notReady:
			lines = []error{errors.New(w.notReadyText(p, text))}
		case isOne:
			lines = []error{fmt.Errorf("%s: %s", message, text)}
		}
	}
	logging, end := logsContext(ctx)
	defer end()
	if withLogs {
		w.reportLogs(logging, some, pods)
	}
	if more > 0 {
		lines = append(lines, fmt.Errorf("waiting for %d more", more))
	}
	return errors.Join(lines...)
}

// explain describes a pending object, and why it is not ready. pod is the pod at fault, if there is one.
func (w *conditionStage) explain(ctx context.Context, p until.PendingItem) (text string, pod *unstructured.Unstructured) {
	if p.Object.IsZero() || w.run.scope.IsRecorded() || !needsCause(p.Object) {
		return w.describe(p), nil
	}
	cause := w.cause(ctx, p)
	return w.because(p, cause), cause.Pod
}
