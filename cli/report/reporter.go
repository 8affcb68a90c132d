// Package report writes lines about the state of the watch, usually to stderr: targets, lost connections, missing
// permissions. A format for people can print changes of the state between its events instead. Reporter.Status summarizes
// the state in one line.
package report

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"dwatch/cli/access"
	"dwatch/output"
	"dwatch/watcher/event"
)

// maxListed is the maximum number of targets that are reported one by one.
const maxListed = 10

// Options configure a Reporter.
type Options struct {
	Out io.Writer
	Err io.Writer // for lines about missing events; if nil, Out
	// Scope is a suffix for lines about targets without objects. It limits which objects are watched, as in " of deploy/web"
	// or " in shard 1/2". If it is empty, all objects of the targets are watched.
	Scope string
	// OnStatus receives lines about changes of the connection, permissions and targets, with the time of the change, instead
	// of Out and Err. It is meant for formats that print them between the events. Most calls come from Deliver. Lines about
	// permissions come from another goroutine. If nil, all lines go to Out and Err.
	OnStatus func(at time.Time, text string)
	// Access explains missing permissions. Nothing else may use it until Wait returns. If nil, a line about a missing
	// permission contains only the error of the server.
	Access *access.Checker
	// ResourceNamed returns the resource if the name of an object is also the name of a resource, or an empty string. It must
	// not block. If nil, no hint is given.
	ResourceNamed func(name string) string
	// SimilarName returns the name of an existing object that is similar to the target's name, or an empty string. It may
	// query the server. If nil, no name is suggested.
	SimilarName func(ctx context.Context, t event.Target) string
	// CheckNamespace reports whether a namespace is missing, and the name of a similar one. It returns an error if it can't
	// find out. It may query the server. If nil, namespaces are not checked.
	CheckNamespace func(ctx context.Context, namespace string) (missing bool, meant string, err error)
	// IsExpected reports whether the run waits for the absence of the object that a Synced event reports as missing. If nil,
	// absence is never expected.
	IsExpected func(e *event.Event) bool
}

// Reporter is a Sink that reports status events to people and passes each batch on. Reports that need an answer of the
// server are made asynchronously and do not delay events. It embeds Options because each report reads some of them.
type Reporter struct {
	Options
	next event.Sink

	mu     sync.Mutex // for Out and Err
	queue  queue      // reports that may query the server, and those that must follow them
	many   bool       // there are more than maxListed targets, so empty and relisted ones are not reported one by one
	status status

	gathered          gathered
	lastNamespaceLine string // the last line about a namespace that joined or left

	lastCause  string     // why the last target became unreadable; empty if one became readable since
	unreadable unreadable // resources that the server does not serve now, although it answers

	// State of the current outage:
	gaps    int  // targets that were relisted
	resumed bool // all targets that have reconnected so far resumed without a gap
}

// New returns a Reporter that passes events to next.
func New(next event.Sink, o Options) *Reporter {
	if o.Err == nil {
		o.Err = o.Out
	}
	return &Reporter{Options: o, next: next, status: status{links: event.NewWatchStates(nil)}}
}

// SetTargets sets the targets without reporting them.
func (r *Reporter) SetTargets(targets []event.Target) {
	r.many = len(targets) > maxListed
	r.status.begin(targets)
}

// AnnounceTargets sets the targets and reports them, with a suffix.
func (r *Reporter) AnnounceTargets(targets []event.Target, note string) {
	r.SetTargets(targets)
	if len(targets) > 0 {
		r.logf("watching %s%s", DescribeTargets(targets), note)
	}
}

// ReportMissingNamespaces reports asynchronously which of the namespaces do not exist.
func (r *Reporter) ReportMissingNamespaces(ctx context.Context, namespaces []string) {
	if r.CheckNamespace == nil || len(namespaces) == 0 {
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		for _, n := range namespaces {
			missing, meant, err := r.CheckNamespace(ctx, n)
			if err != nil {
				return // the other namespaces would fail, too
			}
			if missing {
				r.logf("namespace %q does not exist yet; waiting for it%s", n, didYouMean(meant))
			}
		}
	})
}

// ReportMissingObject reports asynchronously that the object named does not exist in any of the targets, and suggests a
// similar name. All targets have its name. It reports nothing unless SimilarName finds a name for each target, because the
// object may exist otherwise.
func (r *Reporter) ReportMissingObject(ctx context.Context, named string, targets []event.Target) {
	if r.SimilarName == nil {
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		meant := ""
		for _, t := range targets {
			if meant = r.SimilarName(ctx, t); meant == "" {
				return
			}
		}
		r.logf("%s does not exist%s", named, didYouMean(meant))
	})
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// Deliver implements event.Sink. Its queries to the server end with ctx.
func (r *Reporter) Deliver(ctx context.Context, batch []event.Event) error {
	delivered := 0
	for i := range batch {
		e := &batch[i]
		if !e.Type.IsStatus() || e.Type.IsKeepalive() {
			r.status.observe(e)
			continue
		}
		// With OnStatus, a status event is reported after the events before it. A gap is reported before the events that the
		// relist found, because it explains them.
		if r.OnStatus != nil && e.Type != event.Gap && delivered < i {
			if err := r.next.Deliver(ctx, batch[delivered:i]); err != nil {
				return err
			}
			delivered = i
		}
		r.reportStatus(ctx, *e)
	}
	return r.next.Deliver(ctx, batch[delivered:])
}

// Status returns the status of the watch in one line. It is safe for concurrent use.
func (r *Reporter) Status() string { return r.status.String() }

// Wait reports what it still waits for, and returns when all asynchronous reports have been made. Deliver must not be
// called at the same time.
func (r *Reporter) Wait() {
	ended, end := context.WithCancel(context.Background())
	end() // no more queries to the server
	r.reportGathered(ended, true)
	r.queue.working.Wait()
}

// logf writes a line that is not a change of the watch to Out.
func (r *Reporter) logf(format string, args ...any) { r.writef(r.Out, format, args...) }

func (r *Reporter) writef(to io.Writer, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	WriteLine(to, fmt.Sprintf(format, args...))
}

// statusf reports a change of the watch.
func (r *Reporter) statusf(at time.Time, format string, args ...any) {
	r.statusTo(r.Out, at, format, args...)
}

// missingf reports a change of the watch that means that events are missing or may be missing.
func (r *Reporter) missingf(at time.Time, format string, args ...any) {
	r.statusTo(r.Err, at, format, args...)
}

// statusTo passes a line to OnStatus or, if that is nil, writes it to out.
func (r *Reporter) statusTo(out io.Writer, at time.Time, format string, args ...any) {
	if r.OnStatus == nil {
		r.writef(out, format, args...)
		return
	}
	r.OnStatus(at, fmt.Sprintf(format, args...))
}

// WriteLine writes text as one line, with control characters escaped.
func WriteLine(w io.Writer, text string) { fmt.Fprintln(w, output.EscapeLine(text)) }

// queue runs functions one after another in the background.
type queue struct {
	mu      sync.Mutex
	last    <-chan struct{} // closed when the function that was added last has returned; nil before the first
	working sync.WaitGroup
}

// add adds a function. It does not block. The function is always called, and should return quickly if ctx has ended.
func (q *queue) add(ctx context.Context, do func(context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, done := q.last, make(chan struct{})
	q.last = done
	q.working.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		do(ctx)
	})
}
