package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// delivery is where the events of a run go in place of stdout.
type delivery struct {
	receiver *receiver
	dead     *deliver.DeadLetters
	queue    *deliver.Queue
	again    *deliver.Redelivery // of --redeliver; nil: what is watched is delivered
	// state is the file that keeps what waits; nil: it is in memory.
	state *state
}

// openDelivery prepares it as far as that needs no server; nil if there is none. What
// is wrong with it is wrong usage.
func (j *job) openDelivery() (*delivery, error) {
	if !j.delivers() {
		return nil, nil
	}
	r, err := j.newReceiver()
	if err != nil {
		return nil, fail.Usage(err)
	}
	d := &delivery{receiver: r}
	if j.deadLetters != "" {
		for flag, path := range map[string]string{"--state": j.state, "--redeliver": j.redeliver} {
			if isSameFile(j.deadLetters, path) {
				return nil, fail.Usage(fmt.Errorf("--dead-letters and %s take a file each, and these are the same one", flag))
			}
		}
		if d.dead, err = deliver.OpenDeadLetters(j.deadLetters); err != nil {
			return nil, fail.Usage(fmt.Errorf("--dead-letters: %w", err))
		}
		j.warnReadable("--dead-letters", j.deadLetters)
	}
	if j.redeliver != "" {
		if d.again, err = deliver.OpenRedelivery(j.redeliver); err != nil {
			return nil, fail.Usage(fmt.Errorf("--redeliver: %w", err))
		}
	}
	return d, nil
}

// isSameFile reports whether two paths lead to one file, which need not be there yet.
func isSameFile(a, b string) bool {
	if b == "" {
		return false
	}
	same := func(a, b string) bool {
		one, errOne := os.Stat(a)
		other, errOther := os.Stat(b)
		return errOne == nil && errOther == nil && os.SameFile(one, other)
	}
	return same(a, b) || filepath.Base(a) == filepath.Base(b) && same(filepath.Dir(a), filepath.Dir(b))
}

// close closes the receiver.
func (d *delivery) close() {
	if d != nil && d.receiver.close != nil {
		d.receiver.close()
	}
}

// start makes the queue for events. failed is called when what is given up can't be
// written, or what waits not be read.
func (d *delivery) start(ctx context.Context, j *job, state *state, failed func(error)) (event.Sink, error) {
	if d.receiver.begin != nil {
		if err := d.receiver.begin(ctx, j); err != nil {
			return nil, err
		}
	}
	j.print.Unmanaged = j.needsManagedFields() && !j.managedFields
	encoder, err := output.NewEncoder(j.print)
	if err != nil {
		return nil, err
	}
	o := d.options(j, failed)
	o.Encode, o.Subject = encoder.Append, j.subjects()
	if state != nil {
		d.state, o.Store = state, state.outbox
		if !state.file.Fresh() {
			tuneLong() // what waits is more than the way to the first event needs otherwise
		}
	}
	d.queue = deliver.New(d.receiver, o)
	waiting, err := d.queue.Restore()
	if err != nil {
		return nil, fail.Usage(err)
	}
	state.restored(waiting)
	j.metrics.Delivers(d.queue.Stats)
	return d.queue, nil
}

// options says how to deliver, whatever that is.
func (d *delivery) options(j *job, failed func(error)) deliver.Options {
	return deliver.Options{
		Name:        d.receiver.name,
		Workers:     j.workers,
		MaxBackoff:  j.maxBackoff,
		Rate:        j.rate,
		GiveUpAfter: j.giveUpAfter,
		DeadLetters: d.dead,
		Say:         func(line string) { report.Line(j.reports, line) },
		Warn:        func(line string) { report.Line(j.stderr, line) },
		Failed:      failed,
		Room:        j.room,
		Latest:      j.latest,
	}
}

// subjects names the objects of events for people.
func (j *job) subjects() func(event.Event) string {
	short := map[schema.GroupVersionResource]string{}
	return func(e event.Event) string {
		r := e.Target.Resource()
		if short[r] == "" {
			short[r] = j.mapper.ShortName(context.Background(), r)
		}
		subject := short[r] + "/" + e.Object.Name
		if e.Object.Namespace != "" && (j.allNamespaces || len(j.namespaces) > 1) {
			subject = e.Object.Namespace + " " + subject
		}
		return subject
	}
}

// drainNoted is how long the end may take before it is said what it waits for.
const drainNoted = time.Second

// around runs watch while the queue delivers, and waits for what is not delivered yet
// when that has ended.
func (d *delivery) around(ctx context.Context, j *job, watch func() error) error {
	if d == nil {
		return watch()
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.queue.Run(working)
	}()
	err := watch()
	d.queue.Finish()
	defer j.drains(stop)()
	<-done
	if d.receiver.finish != nil {
		d.receiver.finish(working)
	}
	return joined(ctx, err, d.end(j))
}

// drains calls stop after --drain, and says before that what is waited for. done means
// that nothing is any more.
func (j *job) drains(stop func()) (done func()) {
	patience := time.AfterFunc(j.drain, stop)
	long := time.AfterFunc(drainNoted, func() {
		report.Line(j.reports, fmt.Sprintf("waiting up to %s for what is not delivered yet; Ctrl-C ends dwatch at once", j.drain))
	})
	return func() {
		patience.Stop()
		long.Stop()
	}
}

// end says what became of the events, and returns an error if not all of them were
// delivered.
func (d *delivery) end(j *job) error {
	summary, undelivered := d.queue.Summary()
	report.Line(j.reports, summary)
	switch kept := d.queue.Kept(); {
	case kept > 0 && cmp.Or(d.state.checkThere(), d.state.file.Intact()) != nil: // which the end of the state reports
	case kept == 1:
		report.Line(j.reports, "1 event waits in "+d.state.path+": the next run with it delivers it")
	case kept > 1:
		report.Line(j.reports, fmt.Sprintf("%d events wait in %s: the next run with it delivers them", kept, d.state.path))
	}
	switch broken := d.queue.Err(); {
	case broken != nil:
		return sinkError{broken}
	case undelivered == 1:
		return sinkError{fmt.Errorf("1 event was not delivered to %s", d.queue.Name)}
	case undelivered > 1:
		return sinkError{fmt.Errorf("%d events were not delivered to %s", undelivered, d.queue.Name)}
	}
	return nil
}
