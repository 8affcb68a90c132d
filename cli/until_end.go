package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/cli/ask"
	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
	"dwatch/watcher/until"
)

// maxPending is of how much that is waited for it is said what, at the end.
const maxPending = 5

// end returns what the run ends with, that ended with err.
func (w *wait) end(ctx context.Context, err error) error {
	w.stop()
	outcome, decided := errors.AsType[*until.Outcome](err)
	c := &w.conditions
	switch {
	case decided && outcome.Undelivered != nil && !isReaderGone(outcome.Undelivered):
		return sinkError{outcome.Undelivered}
	case decided && outcome.Failed:
		return w.failed(ctx, outcome.Event)
	case decided:
		report.Line(w.reports, fmt.Sprintf("%s: --until %s holds after %s", w.decider(outcome), c.until.typed, w.elapsed()))
		return nil
	case c.until.Expression == nil, !isReaderGone(err) && (ctx.Err() == nil || isLoss(err)):
		return err
	}
	code, what := w.undecided(ctx, err)
	return fail.Code(code, w.unmet(ctx, what))
}

// undecided is the exit code of a run that ended, with err, before --until held, and what
// to say of that.
func (j *job) undecided(ctx context.Context, err error) (code int, what string) {
	typed := j.conditions.until.typed
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout): // a reader that went after that did not end it
		return fail.ExitTimeout, fmt.Sprintf("--timeout %s passed, and --until %s does not hold", j.timeout, typed)
	case isReaderGone(err), errors.Is(cause, errReaderGone):
		return fail.ExitFailed, fmt.Sprintf("the reader closed the pipe before --until %s held", typed)
	default:
		return fail.ExitFailed, fmt.Sprintf("interrupted before --until %s held", typed)
	}
}

// failed is the error of --fail-if, that holds of an event.
func (w *wait) failed(ctx context.Context, e event.Event) error {
	subject := w.subject(e.Target, e.Object)
	if e.Type == event.Deleted {
		subject += " deleted"
	} else {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ask.Timeout)
		defer cancel()
		subject = w.explain(ctx, until.Pending{Target: e.Target, Object: e.Object})
	}
	return fail.Code(fail.ExitFailIf, fmt.Errorf("--fail-if %s holds after %s: %s", w.conditions.failIf.typed, w.elapsed(), subject))
}

// unanswered returns what err means for a run with --until or --count that never got so
// far as to watch: its end is no success.
func (j *job) unanswered(ctx context.Context, err error) error {
	switch {
	case j.rbac.print || err == nil || ctx.Err() == nil || isLoss(err) || fail.IsCoded(err):
		return err
	case j.isLate(ctx):
		return j.tooFew("the server had not answered")
	case j.conditions.until.Expression == nil:
		return err
	}
	code, what := j.undecided(ctx, err)
	return fail.Code(code, errors.New(what+": the server had not answered"))
}

// decider names what decided: an object, or how many did.
func (w *wait) decider(o *until.Outcome) string {
	switch {
	case o.Objects > 1:
		return fmt.Sprintf("%d objects", o.Objects)
	case o.Object.Name == "":
		return "all " + o.Object.Resource().Resource
	default:
		return w.subject(o.Object, event.Object{})
	}
}

// elapsed is how long the run took, as people say it.
func (w *wait) elapsed() string {
	d, precision := time.Since(w.started), time.Second
	switch {
	case d < time.Second:
		precision = 10 * time.Millisecond
	case d < 10*time.Second:
		precision = 100 * time.Millisecond
	}
	return d.Round(precision).String()
}

// unmet is an error for what is still waited for: what happened, and a line more for
// each object if there are several.
func (w *wait) unmet(ctx context.Context, what string) error {
	some, more := w.Pending()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ask.Timeout)
	defer cancel()
	if len(some)+more == 1 && len(some) == 1 {
		return fmt.Errorf("%s: %s", what, w.explain(ctx, some[0]))
	}
	if len(some) > maxPending {
		some, more = some[:maxPending], more+len(some)-maxPending
	}
	lines := []error{errors.New(what)}
	for _, p := range some {
		lines = append(lines, errors.New("waiting for "+w.explain(ctx, p)))
	}
	if more > 0 {
		lines = append(lines, fmt.Errorf("waiting for %d more", more))
	}
	return errors.Join(lines...)
}

// explain says what is waited for, with the newest warning that may be the cause.
func (w *wait) explain(ctx context.Context, p until.Pending) string {
	text := w.describe(p)
	if warning := w.warning(ctx, p); warning != "" && !strings.Contains(text, warning) {
		text += "; " + warning
	}
	return text
}

// warning returns the newest Warning event that may explain why an object is not ready;
// empty if there is none, or it is ready.
func (w *wait) warning(ctx context.Context, p until.Pending) string {
	if p.Object.IsZero() {
		return ""
	}
	if u, err := p.Object.Open(); err != nil || isReady(u) {
		return ""
	}
	return w.questions.Warning(ctx, p.Object)
}

func isReady(u *unstructured.Unstructured) bool {
	word, _ := status.Of(u)
	return word == kstatus.CurrentStatus
}
