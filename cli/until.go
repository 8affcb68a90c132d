package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output/status"
	"dwatch/watcher/event"
	"dwatch/watcher/expression"
	"dwatch/watcher/until"
)

const (
	// maxPending is of how much that is waited for it is said what.
	maxPending = 5
	// progressEvery keeps what is said on the way from drowning all else.
	progressEvery = time.Second
)

// wait is a run that a condition ends: a Sink that knows why.
type wait struct {
	*job
	*until.Judge
	// progress: it is said on the way what is waited for. said is what was said last,
	// and when.
	progress bool
	said     string
	saidAt   time.Time
}

var _ event.Sink = (*wait)(nil)

// newWait returns a wait before next.
func (j *job) newWait(next event.Sink, targets []event.Target) *wait {
	c := &j.conditions
	judge := until.New(next, targets, until.Options{
		Until:   c.until.Expression,
		FailIf:  c.failIf.Expression,
		For:     c.quantifier,
		Input:   j.input(),
		Mistake: j.sayMistake,
	})
	return &wait{job: j, Judge: judge, progress: c.until.Expression != nil && j.showsProgress()}
}

// showsProgress reports whether there are people who see nothing of what goes on.
func (j *job) showsProgress() bool {
	stderr, ok := j.reports.(*os.File)
	seen := j.print.Format == changesFormat && j.print.Terminal
	return ok && term.IsTerminal(int(stderr.Fd())) && !seen
}

// Deliver implements event.Sink.
func (w *wait) Deliver(ctx context.Context, batch []event.Event) error {
	err := w.Judge.Deliver(ctx, batch)
	if err == nil && w.progress {
		w.sayProgress()
	}
	return err
}

// input says how expressions look at events. Nothing is hidden from them.
func (j *job) input() expression.Options {
	compare := j.print.Compare
	compare.Masks = nil
	return expression.Options{Compare: compare}
}

// sayMistake reports the first error of an expression.
func (j *job) sayMistake(x *expression.Expression, e event.Event, err error) {
	for _, c := range j.conditions.all() {
		if c.Expression == x {
			report.Line(j.reports, fmt.Sprintf("%q does not hold for %s, as it can't be judged: %v", c.typed, j.subject(e.Target, e.Object), err))
			return
		}
	}
}

// passes returns what --where asks; nil if it is not given. It is used from one
// goroutine.
func (j *job) passes() func(*event.Event) bool {
	if len(j.conditions.where) == 0 {
		return nil
	}
	wrong := map[*expression.Expression]bool{}
	options := j.input()
	return func(e *event.Event) bool {
		in := expression.NewInput(*e, options)
		for _, c := range j.conditions.where {
			holds, err := c.Holds(in)
			if err != nil && !wrong[c.Expression] {
				wrong[c.Expression] = true
				j.sayMistake(c.Expression, *e, err)
			}
			if !holds || err != nil {
				return false
			}
		}
		return true
	}
}

// subject names an object as kubectl takes it, after its namespace where there are
// several.
func (j *job) subject(t event.Target, o event.Object) string {
	name, namespace := t.Name, t.Namespace
	if !o.IsZero() {
		name, namespace = o.Name, o.Namespace
	}
	subject := j.mapper.ShortName(context.Background(), t.Resource())
	if name != "" {
		subject += "/" + name
	}
	if namespace != "" && (j.allNamespaces || len(j.namespaces) > 1) {
		subject = namespace + " " + subject
	}
	return subject
}

// sayProgress says which object is waited for, and how far it is, when that is something
// else than before; of several not too often. What does not exist the reporter says.
func (w *wait) sayProgress() {
	some, more := w.Pending()
	first := slices.IndexFunc(some, func(p until.Pending) bool { return !p.Object.IsZero() })
	if more += len(some) - 1; first < 0 || more > 0 && time.Since(w.saidAt) < progressEvery {
		return
	}
	text := "waiting for " + w.describe(some[first])
	if more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	if text != w.said {
		report.Line(w.reports, text)
		w.said, w.saidAt = text, time.Now()
	}
}

// describe says what is waited for, and how far that is.
func (w *wait) describe(p until.Pending) string {
	subject := w.subject(p.Target, p.Object)
	switch {
	case p.Unsynced:
		return subject + ": what exists is not known yet"
	case p.Object.IsZero():
		return subject + ": does not exist yet"
	}
	u, err := p.Object.Open()
	if err != nil {
		return subject
	}
	word, message := status.Of(u)
	if message != "" {
		message = ": " + strings.Join(strings.Fields(message), " ")
	}
	return subject + " " + word.String() + message
}

// end returns what the run ends with, that ended with err.
func (w *wait) end(ctx context.Context, err error) error {
	outcome, decided := errors.AsType[*until.Outcome](err)
	c := &w.conditions
	switch {
	case decided && outcome.Failed:
		return w.failed(ctx, outcome.Event)
	case decided:
		report.Line(w.reports, fmt.Sprintf("%s: --until %s holds after %s", w.decider(outcome), c.until.typed, w.elapsed()))
		return nil
	case ctx.Err() == nil, c.until.Expression == nil, isLoss(err):
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return fail.Code(fail.ExitTimeout, w.unmet(ctx, fmt.Sprintf("--timeout %s passed, and --until %s does not hold", w.timeout, c.until.typed)))
	case errors.Is(cause, errReaderGone):
		return fail.Code(fail.ExitFailed, w.unmet(ctx, fmt.Sprintf("the reader closed the pipe before --until %s held", c.until.typed)))
	default:
		return fail.Code(fail.ExitFailed, w.unmet(ctx, fmt.Sprintf("interrupted before --until %s held", c.until.typed)))
	}
}

// failed is the error of --fail-if, that holds of an event.
func (w *wait) failed(ctx context.Context, e event.Event) error {
	subject := w.subject(e.Target, e.Object)
	if e.Type == event.Deleted {
		subject += " deleted"
	} else {
		subject = w.explain(ctx, until.Pending{Target: e.Target, Object: e.Object})
	}
	return fail.Code(fail.ExitFailIf, fmt.Errorf("--fail-if %s holds after %s: %s", w.conditions.failIf.typed, w.elapsed(), subject))
}

// unanswered returns what err means for a run with --until that never got so far as to
// watch.
func (j *job) unanswered(err error) error {
	if c := j.conditions; c.until.Expression != nil && errors.Is(err, errTimeout) {
		return fail.Code(fail.ExitTimeout, fmt.Errorf("--timeout %s passed before the server had answered, and --until %s does not hold", j.timeout, c.until.typed))
	}
	return err
}

// decider names what decided: an object, or how many did.
func (w *wait) decider(o *until.Outcome) string {
	switch e := o.Event; {
	case o.Objects > 1:
		return fmt.Sprintf("%d objects", o.Objects)
	case e.Type.IsMark():
		return w.subject(e.Target, event.Object{})
	default:
		return w.subject(e.Target, e.Object)
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
	if warning := w.warning(ctx, p); warning != "" {
		return w.describe(p) + "; " + warning
	}
	return w.describe(p)
}

// warning returns the newest Warning event that may explain why an object does not
// hold; empty if there is none.
func (w *wait) warning(ctx context.Context, p until.Pending) string {
	if p.Object.IsZero() {
		return ""
	}
	h, err := w.newHelper()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), helpTimeout)
	defer cancel()
	return h.warning(ctx, p.Object)
}
