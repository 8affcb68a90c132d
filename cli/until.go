package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
	"dwatch/watcher/object/status"
	"dwatch/watcher/until"
)

// progressEvery keeps what is said on the way from drowning all else.
const progressEvery = time.Second

// wait is a run that a condition ends: a Sink that knows why.
type wait struct {
	*job
	*until.Stage
	// progress: it is said on the way what is waited for. said is what was said last,
	// and when.
	progress bool
	said     string
	saidAt   time.Time

	mu    sync.Mutex  // of all that is above
	due   *time.Timer // says what was too early to say; nil while nothing was
	ended bool
}

var _ event.Sink = (*wait)(nil)

// newWait returns a wait before next, for what is planned.
func (j *job) newWait(next event.Sink, what *plan.Plan) *wait {
	c := &j.conditions
	var awaited []until.Awaited
	for _, m := range what.Missing {
		awaited = append(awaited, until.Awaited(m))
	}
	stage := until.New(next, what.Targets, until.Options{
		Until:   c.until.Expression,
		FailIf:  c.failIf.Expression,
		Awaited: awaited,
		For:     c.quantifier,
		Input:   j.input(),
		Mistake: j.sayMistake,
	})
	return &wait{job: j, Stage: stage, progress: c.until.Expression != nil && j.showsProgress()}
}

// showsProgress reports whether there are people who see nothing of what goes on.
func (j *job) showsProgress() bool {
	stderr, ok := j.reports.(*os.File)
	seen := j.print.Format == changesFormat && j.print.Terminal
	return ok && term.IsTerminal(int(stderr.Fd())) && !seen
}

// Deliver implements event.Sink.
func (w *wait) Deliver(ctx context.Context, batch []event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.Stage.Deliver(ctx, batch)
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

// sayMistake reports the first error of an expression, with --quiet, too: it decides what
// is left out, or how the run ends.
func (j *job) sayMistake(x *expression.Expression, e event.Event, err error) {
	for _, c := range j.conditions.all() {
		if c.Expression == x {
			report.Line(j.stderr, fmt.Sprintf("%q does not hold for %s, as it can't be judged: %v", c.typed, j.subject(e.Target, e.Object), err))
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
// else than before; of several not too often, and at the start not before it is known
// what exists. What does not exist the reporter says.
func (w *wait) sayProgress() {
	some, more := w.Pending()
	first := slices.IndexFunc(some, func(p until.Pending) bool { return !p.Object.IsZero() })
	if more += len(some) - 1; first < 0 {
		return
	}
	last := w.saidAt
	if last.IsZero() && slices.ContainsFunc(some, func(p until.Pending) bool { return p.Unsynced }) {
		last = w.started
	}
	if early := progressEvery - time.Since(last); more > 0 && early > 0 {
		if w.due == nil {
			w.due = time.AfterFunc(early, w.sayDue)
		}
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

// sayDue says what was too early to say.
func (w *wait) sayDue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = nil
	if !w.ended {
		w.sayProgress()
	}
}

// stop ends what is said on the way.
func (w *wait) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.due != nil {
		w.due.Stop()
	}
}

// describe says what is waited for, and how far that is.
func (w *wait) describe(p until.Pending) string {
	if p.Awaited != "" {
		return p.Awaited + ": the server does not have the resource"
	}
	subject := w.subject(p.Target, p.Object)
	switch {
	case p.Lost != nil:
		return subject + ": " + lossText(p.Lost)
	case p.Unsynced:
		return subject + ": what exists is not known yet"
	case p.Object.IsZero() && p.Target.Name == "":
		return p.Target.Resource().Resource + ": none exists"
	case p.Object.IsZero():
		return subject + ": does not exist"
	}
	u, err := p.Object.Open()
	if err != nil {
		return subject
	}
	word, message := status.Of(u)
	switch {
	case word == kstatus.CurrentStatus:
		return subject // what is waited for is not what its status is about
	case word == kstatus.UnknownStatus && w.judgesStatus():
		return subject + ": has no status yet"
	case word == kstatus.UnknownStatus:
		return subject
	case message != "":
		return subject + " " + word.String() + ": " + strings.Join(strings.Fields(message), " ")
	}
	return subject + " " + word.String()
}

// judgesStatus reports whether --until asks in what state an object is.
func (w *wait) judgesStatus() bool {
	text := w.conditions.until.String()
	return strings.Contains(text, "ready(") || strings.Contains(text, "status(")
}

// lossText says why there is no connection for a target, which is named before it.
func lossText(err error) string {
	if of, ok := errors.AsType[*event.TargetError](err); ok {
		err = of.Err
	}
	if apierrors.IsForbidden(err) {
		return "denied: " + fail.Loss(err)
	}
	return "connection lost: " + fail.Loss(err)
}
