// Package report says on stderr what goes on: what is watched, that a connection
// is lost, that a right is missing. What becomes of the watch goes to a format for
// people instead, where there is one. It also knows how the watch is, for who asks.
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

// maxListed is how many targets are reported one by one.
const maxListed = 10

// Options says where reports go, and what helps with them.
type Options struct {
	Out   io.Writer
	Err   io.Writer // for what is missing from the events; nil: Out
	Scope string    // what the objects are about; empty: they are all
	// Note gets, in place of Out, what becomes of the watch, with the time: for a
	// format in which that stands between the events. Most calls come from Deliver;
	// what the server is asked about comes from another goroutine. nil: Out gets all.
	OnStatus func(at time.Time, text string)
	// Rights is asked about rights that are missing, if it is not nil. Nobody else may use it
	// until Wait returns.
	Access *access.Checker
	// Namesake returns the resource that the name of an object means, too; empty, or nil, if
	// there is none. It must not block.
	ResourceNamed func(name string) string
	// Near returns the name of an object that may have been meant by that of a target, if there
	// is one. It may ask the server; nil: nothing is said.
	SimilarName func(ctx context.Context, t event.Target) string
	// IsMissing says of a namespace that it does not exist, and which one may have been meant, or
	// an error if that is not known. It may ask the server; nil: nothing is said.
	CheckNamespace func(ctx context.Context, namespace string) (missing bool, meant string, err error)
	// IsWell says of a mark by which an object does not exist that this is waited for; nil: no.
	IsExpected func(e *event.Event) bool
}

// Reporter is a Sink that reports what the marks in a batch mean for people, and
// passes the batch on. What takes a question to the server is reported beside the
// events, which don't wait for the answer.
type Reporter struct {
	Options
	next event.Sink

	mu     sync.Mutex // for Out and Err
	queue  queue      // of what asks the server
	many   bool       // there is too much to watch to say of each target what it has
	status status

	gathered  gathered
	lastMoved string // what was said last of a namespace that came or left

	// Of the present outage:
	gaps    int  // targets that were relisted
	resumed bool // each end so far was that nothing was missed
}

// New returns a Reporter before next.
func New(next event.Sink, o Options) *Reporter {
	if o.Err == nil {
		o.Err = o.Out
	}
	return &Reporter{Options: o, next: next, status: status{links: event.NewWatchStates(nil)}}
}

// Know says what is watched, without a word.
func (r *Reporter) SetTargets(targets []event.Target) {
	r.many = len(targets) > maxListed
	r.status.begin(targets)
}

func (r *Reporter) AnnounceTargets(targets []event.Target, note string) {
	r.SetTargets(targets)
	if len(targets) > 0 {
		r.say("watching %s%s", DescribeTargets(targets), note)
	}
}

// CheckNamespaces reports, beside the events, those that do not exist.
func (r *Reporter) ReportMissingNamespaces(ctx context.Context, namespaces []string) {
	if r.CheckNamespace == nil || len(namespaces) == 0 {
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		for _, n := range namespaces {
			missing, meant, err := r.CheckNamespace(ctx, n)
			if err != nil {
				return // nor will it say so of the others
			}
			if missing {
				r.say("namespace %q does not exist yet; waiting for it%s", n, didYouMean(meant))
			}
		}
	})
}

// CheckObject reports, beside the events, that an object which was named is in none of the targets,
// each of which has its name, if there is one of a name near it.
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
		r.say("%s is not there%s", named, didYouMean(meant))
	})
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// Deliver implements event.Sink. Questions that it leads to are given up when ctx ends.
func (r *Reporter) Deliver(ctx context.Context, batch []event.Event) error {
	delivered := 0
	for i := range batch {
		e := &batch[i]
		if !e.Type.IsStatus() || e.Type.IsKeepalive() {
			r.status.observe(e)
			continue
		}
		// A note comes after what came before it; but a gap is said before what was
		// found out by it, which explains that.
		if r.OnStatus != nil && e.Type != event.Gap && delivered < i {
			if err := r.next.Deliver(ctx, batch[delivered:i]); err != nil {
				return err
			}
			delivered = i
		}
		r.mark(ctx, *e)
	}
	return r.next.Deliver(ctx, batch[delivered:])
}

// Status says in one line how the watch is. It may be called at any time, from any goroutine.
func (r *Reporter) Status() string { return r.status.String() }

// Wait returns when all has been reported. Nothing may be delivered any more.
func (r *Reporter) Wait() {
	ended, end := context.WithCancel(context.Background())
	end() // nobody is asked any more
	r.sayGathered(ended, true)
	r.queue.working.Wait()
}

func (r *Reporter) say(format string, args ...any) { r.line(r.Out, format, args...) }

func (r *Reporter) line(to io.Writer, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	WriteLine(to, fmt.Sprintf(format, args...))
}

func (r *Reporter) note(at time.Time, format string, args ...any) {
	r.noteTo(r.Out, at, format, args...)
}

// miss says what is missing from the events, or may be.
func (r *Reporter) miss(at time.Time, format string, args ...any) {
	r.noteTo(r.Err, at, format, args...)
}

func (r *Reporter) noteTo(out io.Writer, at time.Time, format string, args ...any) {
	if r.OnStatus == nil {
		r.line(out, format, args...)
		return
	}
	r.OnStatus(at, fmt.Sprintf(format, args...))
}

// Line writes text, from wherever it comes, as one line.
func WriteLine(w io.Writer, text string) { fmt.Fprintln(w, output.EscapeLine(text)) }

// queue does one thing after the other beside the events.
type queue struct {
	mu      sync.Mutex
	last    <-chan struct{} // closed when what was added last is done
	working sync.WaitGroup
}

// add does not wait. All that is added is done, if quickly after the end of ctx.
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
