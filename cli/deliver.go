package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/output"
	"dwatch/output/chat"
	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// delivery sends events to a receiver.
type delivery struct {
	flags.Delivery
	chat      *flags.Chat // nil: programs get the events
	rule      string      // whose it is; empty: there are none
	stateFile string      // empty: what waits is in memory
	receiver  deliver.Receiver
	remote    remoteReceiver   // it; nil: it is a command
	process   *deliver.Process // it, or nil
	queue     *deliver.Queue
	term      *lease.Term // it delivers in; nil: there are no others
	idle      bool        // nothing goes anywhere
	endAborts func()      // nothing is aborted any more when that is in doubt; nil: nothing ever is
	// aside, if not nil, does what nobody waits for, and ends the run with its error.
	aside func(func() error)
	// ends is the end of the process, of a rule; lingers: what waits is delivered up to then, and not for --drain alone.
	ends    <-chan struct{}
	lingers atomic.Bool
}

// prepare opens what needs no server: the receiver, and its files.
func (d *delivery) prepare(c *console) error {
	if d.idle {
		return nil
	}
	if err := d.newReceiver(c); err != nil {
		return fail.Usage(err)
	}
	if err := d.checkLetters(deliver.DeadLetterFile.Check); err != nil {
		return err
	}
	if d.DeadLetters != "" {
		c.warnReadable("--dead-letters", string(d.DeadLetters))
	}
	return nil
}

// checkLetters makes sure that what is given up can be kept, by check.
func (d *delivery) checkLetters(check func(deliver.DeadLetterFile) error) error {
	if d.DeadLetters == "" {
		return nil
	}
	for flag, path := range map[string]string{"--state": d.stateFile, "--redeliver": d.RedeliverFile} {
		if isSameFile(string(d.DeadLetters), path) {
			return fail.Usage(fmt.Errorf("--dead-letters and %s take a file each, and these are the same one", flag))
		}
	}
	if err := check(d.DeadLetters); err != nil {
		return fail.Usage(fmt.Errorf("--dead-letters: %w", err))
	}
	return nil
}

// isSameFile reports whether two paths lead to one file, which need not be there yet.
func isSameFile(a, b string) bool {
	switch {
	case b == "":
		return false
	case filepath.Clean(a) == filepath.Clean(b):
		return true
	}
	same := func(a, b string) bool {
		one, errOne := os.Stat(a)
		other, errOther := os.Stat(b)
		return errOne == nil && errOther == nil && os.SameFile(one, other)
	}
	return same(a, b) || filepath.Base(a) == filepath.Base(b) && same(filepath.Dir(a), filepath.Dir(b))
}

func (d *delivery) close() {
	if d.endAborts != nil {
		d.endAborts()
	}
	if d.remote != nil {
		d.remote.Close()
	}
}

func (d *delivery) newEncoder(w *watching) (func([]byte, event.Event) ([]byte, error), error) {
	if d.chat == nil {
		return output.NewEncoder(w.print)
	}
	view := w.changes(flags.View{})
	view.Width, view.Color = nil, false
	place := ""
	switch {
	case w.recorded.isSeveral(): // each event has its own
	case w.recorded != nil:
		place = cmp.Or(d.chat.Cluster, w.recorded.about("").Server)
	case w.fleet == nil:
		place = cmp.Or(d.chat.Cluster, w.DisplayName())
	}
	return chat.NewEncoder(chat.Options{Format: d.chat.Form, Template: d.chat.Template, Cluster: place, View: view, Warn: w.warn})
}

// open makes the queue. failed is called when what is given up, or waits, can't be kept or read.
func (d *delivery) open(ctx context.Context, w *watching, failed func(error)) (_ event.Sink, err error) {
	if d.idle {
		return d.nowhere(), nil
	}
	if d.remote != nil {
		if err := d.beginFor(ctx, w); err != nil {
			return nil, err
		}
	}
	if d.Encode, err = d.newEncoder(w); err != nil {
		return nil, err
	}
	d.Subject = func(e event.Event) string { return w.subject(e.Target, e.Object) }
	if w.state != nil {
		d.Store = w.state.outbox
		if !w.state.file.IsNew() {
			tuneLong() // what waits is more than the way to the first event needs otherwise
		}
	}
	d.newQueue(w.console, failed)
	waiting, err := d.queue.Restore()
	if err != nil {
		return nil, fail.Usage(err)
	}
	if w.state != nil {
		w.state.waiting = waiting
	}
	w.metrics.SetDeliveryStats(d.queue.Stats)
	return d.queue, nil
}

func (d *delivery) status() string { return d.queue.Status() }

func (d *delivery) hidden() string { return "" }

func (d *delivery) look() []string { return nil }

func (d *delivery) newQueue(c *console, failed func(error)) {
	if d.term != nil {
		d.BeginAttempt = d.term.HeldContext
		d.abortWith(d.term)
	}
	d.Log, d.Warn, d.OnStorageError, d.Rule = c.say, c.warn, failed, d.rule
	d.queue = deliver.New(d.receiver, d.Options)
}

// abortWith has nothing be on its way when the Lease may be another's: neither what a try leaves that was cut short, nor what one has
// left before.
func (d *delivery) abortWith(term *lease.Term) {
	remote, is := d.remote.(abortable)
	if !is {
		return
	}
	d.endAborts = term.OnExpire(remote.Abort)
	d.BeginAttempt = func(ctx context.Context) (context.Context, context.CancelFunc, error) {
		try, end, err := term.HeldContext(ctx)
		return try, func() {
			if try.Err() != nil {
				remote.Abort()
			}
			end()
		}, err
	}
}

// drainNoted is how long the end may take before it is said what it waits for.
const drainNoted = time.Second

// around runs watch while the queue delivers, and waits for what is not delivered yet
// when that has ended.
func (d *delivery) around(ctx context.Context, _ context.CancelCauseFunc, w *watching, watch func() error) error {
	if d.idle {
		return watch()
	}
	finish := d.work(ctx)
	err := watch()
	d.queue.Drain()
	var begun <-chan struct{}
	if d.lingers.Load() {
		begun = d.ends
	}
	finish(w.console, begun)
	return joined(ctx, err, d.undelivered(w))
}

// work starts the queue. finish waits until all is delivered, once begun has ended (nil:
// at once), but for --drain at most, and ends it.
func (d *delivery) work(ctx context.Context) (finish func(c *console, begun <-chan struct{})) {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.queue.Run(working)
	}()
	return func(c *console, begun <-chan struct{}) {
		defer stop()
		if isLost(ctx) { // what waits is not for this one to deliver
			stop()
		}
		if begun != nil {
			select {
			case <-done:
			case <-begun:
			}
		}
		defer time.AfterFunc(d.DrainTimeout, stop).Stop()
		defer time.AfterFunc(drainNoted, func() {
			c.say(fmt.Sprintf("waiting up to %s for what is not delivered yet; Ctrl-C ends dwatch at once", d.DrainTimeout))
		}).Stop()
		<-done
		if d.process != nil {
			d.process.Shutdown(working)
		}
	}
}

// undelivered says what became of the events, and returns an error if not all of them were
// delivered.
func (d *delivery) undelivered(w *watching) error {
	summary, undelivered := d.queue.Summary()
	w.say(summary)
	switch kept := d.queue.Stats().Waiting; {
	case w.state == nil || kept == 0:
	case cmp.Or(w.state.checkThere(), w.state.file.CheckIntegrity()) != nil: // which the end of the state reports
	case kept == 1:
		w.say("1 event waits in " + w.state.path + ": the next run with it delivers it")
	default:
		w.say(fmt.Sprintf("%d events wait in %s: the next run with it delivers them", kept, w.state.path))
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
