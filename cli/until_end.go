package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/cli/fail"
	"dwatch/cli/lookup"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/until"
)

const maxPending = 5 // that are named at the end

// end returns what the run ends with, that ended with err.
func (w *wait) end(ctx context.Context, err error) error {
	w.stop()
	outcome, decided := errors.AsType[*until.Outcome](err)
	timeout := errors.Is(context.Cause(ctx), errTimeout)
	if err == nil && (w.outcome != nil || timeout && w.byTime()) {
		outcome, decided = w.outcome, true
	}
	unread, unwritten := w.apart.finish(decided || timeout)
	switch {
	case unread != "":
		w.warn(unread)
	case unwritten != nil && decided:
		outcome.Undelivered = unwritten
	case unwritten != nil && err == nil:
		err = sinkError{unwritten}
	}
	switch {
	case decided && outcome.Undelivered != nil && !isReaderGone(outcome.Undelivered):
		return sinkError{outcome.Undelivered}
	case decided && outcome.Failed:
		return w.failed(ctx, outcome.Event)
	case decided:
		w.held = true
		w.say(w.heldText(outcome))
		return nil
	case !w.ending.Until.IsSet(), !isReaderGone(err) && (ctx.Err() == nil || isLoss(err)):
		return err
	}
	code, what := w.ending.undecided(ctx, err)
	return fail.WithExitCode(code, w.unmet(ctx, what, code == fail.ExitTimeout))
}

// failed is the error of --fail-if, that holds of an event.
func (w *wait) failed(ctx context.Context, e event.Event) error {
	subject := w.subject(e.Target, e.Object)
	if e.Type == event.Deleted {
		subject += " deleted"
	} else {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookup.Timeout)
		defer cancel()
		var pod *unstructured.Unstructured
		subject, pod = w.explain(asking, until.PendingItem{Target: e.Target, Object: e.Object})
		logging, end := forLogs(ctx)
		defer end()
		w.sayAllLogs(logging, []until.PendingItem{{Target: e.Target, Object: e.Object}}, []*unstructured.Unstructured{pod})
	}
	return fail.WithExitCode(fail.ExitFailIf, errors.New(w.failedText(w.subject(e.Target, e.Object), subject)))
}

// when says when it was decided.
func (w *wait) when() string {
	if w.isPast() {
		return "at " + output.FormatTimeMillis(w.now(), time.Now(), w.print.Timestamps)
	}
	return "after " + w.elapsed()
}

// decider names what decided: an object, or how many did.
func (w *wait) decider(o *until.Outcome) string {
	switch {
	case o.ObjectCount > 1:
		return fmt.Sprintf("%d objects", o.ObjectCount)
	case o.Object.Name == "":
		return "all " + o.Object.Resource().Resource
	default:
		return w.subject(o.Object, event.Object{})
	}
}

// elapsed is how long the run took, as people say it.
func (w *wait) elapsed() string {
	d, precision := w.took, time.Second
	switch {
	case d < time.Second:
		precision = 10 * time.Millisecond
	case d < 10*time.Second:
		precision = 100 * time.Millisecond
	}
	return d.Round(precision).String()
}

// unmet is an error for what is still waited for: what happened, and a line more for
// each object if there are several. withLogs has those said of each.
func (w *wait) unmet(ctx context.Context, what string, withLogs bool) error {
	some, more := w.Pending()
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookup.Timeout)
	defer cancel()
	total := len(some) + more
	isOne := total == 1 && len(some) == 1
	notReady := withLogs && !w.isPast() && isWord(w.ending.Until, "ready")
	if notReady && !isOne {
		what = fmt.Sprintf("%d not ready after %s", total, shortDuration(w.ending.Timeout))
	}
	if len(some) > maxPending {
		some, more = some[:maxPending], more+len(some)-maxPending
	}
	lines, pods := []error{errors.New(what)}, make([]*unstructured.Unstructured, len(some))
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
			lines = []error{fmt.Errorf("%s: %s", what, text)}
		}
	}
	logging, end := forLogs(ctx)
	defer end()
	if withLogs {
		w.sayAllLogs(logging, some, pods)
	}
	if more > 0 {
		lines = append(lines, fmt.Errorf("waiting for %d more", more))
	}
	return errors.Join(lines...)
}

// explain says what is waited for, and why it is not ready, by which pod if one was asked for.
func (w *wait) explain(ctx context.Context, p until.PendingItem) (text string, pod *unstructured.Unstructured) {
	if p.Object.IsZero() || w.isPast() || !needsCause(p.Object) {
		return w.describe(p), nil
	}
	cause := w.cause(ctx, p)
	return w.because(p, cause), cause.Pod
}
