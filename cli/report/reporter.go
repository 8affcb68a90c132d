package report

import (
	"context"
	"fmt"
	"io"
	"sync"

	"dwatch/cli/access"
	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/watcher/event"
)

// maxListed is how many targets are reported one by one.
const maxListed = 10

// Options says where reports go, and what helps with them.
type Options struct {
	// Out gets the reports, one line each.
	Out io.Writer
	// Rights is asked about rights that are missing; with nil nothing is said about
	// those. Nobody else may use it until Wait returns.
	Rights *access.Rights
	// Namesake returns the resource, if there is one, that the name of an object
	// means, too; empty if none. It must not block; nil means that there is none.
	Namesake func(ctx context.Context, name string) string
	// Near returns the name of an object that may have been meant by that of a
	// target; empty if there is none. It may ask the server; nil: nothing is said.
	Near func(ctx context.Context, t event.Target) string
	// IsMissing says of a namespace that it does not exist, or an error if that is
	// not known. It may ask the server; nil: nothing is said.
	IsMissing func(ctx context.Context, namespace string) (bool, error)
}

// Reporter is a Sink that reports what the marks in a batch mean for people, and
// passes the batch on. What takes a question to the server is reported beside the
// events, which don't wait for the answer.
type Reporter struct {
	Options
	next event.Sink

	mu sync.Mutex // for Out
	// queue has what asks the server.
	queue queue
	// down, denied and checked are targets: unreachable, reported as denied, asked
	// about the right to list.
	down, denied, checked map[event.Key]bool
	// many: there is too much to watch to say of each target what it has.
	many bool
	// gaps counts the targets that were relisted in the present outage.
	gaps int
}

var _ event.Sink = (*Reporter)(nil)

// New returns a Reporter before next.
func New(next event.Sink, o Options) *Reporter {
	return &Reporter{
		Options: o,
		next:    next,
		down:    map[event.Key]bool{},
		denied:  map[event.Key]bool{},
		checked: map[event.Key]bool{},
	}
}

// Begin reports what is watched, with a note on it.
func (r *Reporter) Begin(targets []event.Target, note string) {
	r.many = len(targets) > maxListed
	if len(targets) > 0 {
		r.say("watching %s%s", describeAll(targets), note)
	}
}

// CheckNamespaces reports, beside the events, those that do not exist.
func (r *Reporter) CheckNamespaces(ctx context.Context, namespaces []string) {
	if r.IsMissing == nil || len(namespaces) == 0 {
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		for _, n := range namespaces {
			missing, err := r.IsMissing(ctx, n)
			if err != nil {
				return // nor will it say so of the others
			}
			if missing {
				r.say("namespace %q does not exist yet; waiting for it", n)
			}
		}
	})
}

// Deliver implements event.Sink. Questions that it leads to are given up when ctx
// ends.
func (r *Reporter) Deliver(ctx context.Context, batch []event.Event) error {
	for i := range batch {
		if e := &batch[i]; e.Type.IsMark() && e.Type != event.Heartbeat {
			r.mark(ctx, *e)
		}
	}
	return r.next.Deliver(ctx, batch)
}

// Wait returns when all has been reported. Nothing may be delivered any more.
func (r *Reporter) Wait() { r.queue.wait() }

func (r *Reporter) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	Line(r.Out, fmt.Sprintf(format, args...))
}

// Line writes text, from wherever it comes, as one line.
func Line(w io.Writer, text string) { fmt.Fprintln(w, output.Line(text)) }

func (r *Reporter) mark(ctx context.Context, e event.Event) {
	t := e.Target
	switch e.Type {
	case event.Synced:
		r.up(ctx, t)
		if e.Count == 0 {
			r.nothingThere(ctx, t)
		}
		r.checkList(ctx, t)
	case event.Disconnected:
		r.lost(t, e.Err)
	case event.Reconnected:
		r.up(ctx, t)
	case event.Gap:
		r.gap(ctx, e)
	case event.Gone:
		r.forget(t)
		r.say("%s: the server no longer has the resource; waiting for it", describe(t))
	case event.Arrived:
		r.say("%s: the server has the resource; watching it", describe(t))
	case event.Denied:
		r.endOutage(t)
		r.deny(ctx, t, e.Err)
	}
}

// gap reports what a list after a loss may have cost. What it cost many targets
// is reported at the end of the outage, in one line.
func (r *Reporter) gap(ctx context.Context, e event.Event) {
	counted := r.many && r.down[e.Target.Key()]
	if counted {
		r.gaps++
	}
	r.up(ctx, e.Target)
	if !counted {
		r.say("%s: relisted at resourceVersion %s: intermediate states since %s may be missing, last states and deletions are not",
			describe(e.Target), e.ResourceVersion, orStart(e.From))
	}
}

// lost and up report an outage once, however many targets it hits.
func (r *Reporter) lost(t event.Target, err error) {
	if len(r.down) == 0 {
		r.say("connection lost, trying again: %s", fail.Loss(err))
	}
	r.down[t.Key()] = true
}

func (r *Reporter) up(ctx context.Context, t event.Target) {
	r.allow(ctx, t)
	r.endOutage(t)
}

// forget: the target is gone, and another with the same key may come.
func (r *Reporter) forget(t event.Target) {
	r.endOutage(t)
	delete(r.denied, t.Key())
	delete(r.checked, t.Key())
}

func (r *Reporter) endOutage(t event.Target) {
	if !r.down[t.Key()] {
		return
	}
	delete(r.down, t.Key())
	switch {
	case len(r.down) > 0:
	case r.gaps > 0:
		r.say("reconnected; %d resources were relisted: intermediate states may be missing, last states and deletions are not", r.gaps)
		r.gaps = 0
	default:
		r.say("reconnected")
	}
}

func (r *Reporter) nothingThere(ctx context.Context, t event.Target) {
	switch {
	case r.many:
		return
	case t.Name == "":
		r.say("no %s yet", describe(t))
		return
	}
	const waiting = "%s is not there yet; waiting for it%s"
	if r.Namesake != nil {
		if resource := r.Namesake(ctx, t.Name); resource != "" {
			r.say(waiting, describe(t), fmt.Sprintf(" (%q is also a resource: to watch both, say dwatch %s,%s)", t.Name, t.Resource().Resource, resource))
			return
		}
	}
	if r.Near == nil {
		r.say(waiting, describe(t), "")
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		hint := ""
		if near := r.Near(ctx, t); near != "" {
			hint = "; did you mean " + near + "?"
		}
		r.say(waiting, describe(t), hint)
	})
}

func orStart(resourceVersion string) string {
	if resourceVersion == "" {
		return "the start"
	}
	return resourceVersion
}
