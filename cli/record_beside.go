package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"dwatch/cli/flags"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// beside records what a run watches for its destination (--record): one watch, of which each batch counts
// as delivered when both have it. What either can't take ends the run. nil: nothing is recorded.
type beside struct {
	one  *intoDir
	each *recordedEach // of several clusters; nil: it is one
	runs runs
}

// recordsBeside has a run be recorded, too, if that is asked for.
func (f *watchFlags) recordsBeside(to flags.Recording) error {
	w := &f.w
	switch err := to.Check(f.all); {
	case err != nil || to.Dir == "":
		return err
	case w.stateFile != "":
		return errors.New("--record and --state go on from where each has ended, which may be two places: it takes dwatch record beside this")
	case w.object != nil:
		return errors.New("--for leaves out some of what is watched, and a recording has all: it does not go with --record")
	case w.request.SelectsNamespaces():
		return errors.New("--record takes namespaces by their names, or all with -A")
	case w.connection.HasMultipleContexts():
		w.beside = &beside{each: &recordedEach{dir: to.Dir, keep: to.Retention, beside: true}}
	default:
		w.beside = &beside{one: &intoDir{dir: to.Dir, keep: to.Retention, beside: true}}
		w.beside.one.shown = w.beside.runs.of("")
	}
	w.heartbeat, w.needs.managedFields = recording.HeartbeatInterval, true
	return nil
}

func (b *beside) prepare(c *console) error {
	switch {
	case b == nil:
		return nil
	case b.each != nil:
		return b.each.prepare(c)
	}
	return b.one.prepare(c)
}

func (b *beside) close() {
	switch {
	case b == nil:
	case b.each != nil:
		b.each.close()
	default:
		b.one.close()
	}
}

// begin begins the recording of one cluster, and says how it is to be watched.
func (b *beside) begin(ctx context.Context, w *watching, o *watcher.Options) error {
	if b == nil {
		return nil
	}
	b.one.demand(o)
	_, err := b.one.begin(ctx, w, w.session)
	return err
}

// before returns a Sink before next, of what comes of one cluster.
func (b *beside) before(next event.Sink) event.Sink {
	if b == nil {
		return next
	}
	return b.one.before(b.one.recorder, next)
}

// around returns what runs the watch of one cluster, and then ends the recording.
func (b *beside) around(run func(context.Context, event.Sink) error) func(context.Context, event.Sink) error {
	if b == nil {
		return run
	}
	return func(ctx context.Context, sink event.Sink) error { return b.one.end(ctx, run(ctx, sink)) }
}

// dir is where it is recorded.
func (b *beside) dir() string {
	if b.each != nil {
		return b.each.dir
	}
	return b.one.dir
}

func (b *beside) note() string {
	if b == nil {
		return ""
	}
	return b.one.note()
}

// before returns a Sink whose batches are recorded, and go on to next. Each gets all, whatever becomes of
// the other; but what only says how far the watch is goes no further.
func (r *intoDir) before(recorded, next event.Sink) event.Sink {
	var passed []event.Event
	recorded = seldom(recorded)
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		began := time.Now()
		failed := recorded.Deliver(ctx, batch)
		passed = passed[:0]
		for _, e := range batch {
			r.shown.see(e)
			if e.Type != event.Bookmark {
				passed = append(passed, e)
			}
		}
		var err error
		if len(passed) > 0 {
			err = next.Deliver(ctx, passed)
		}
		clear(passed) // and let go of what it holds
		switch r.recorder.ReportDelay(time.Since(began)); {
		case failed == nil:
			return err
		case err != nil && isLoss(err):
			return sinkError{errors.Join(failed, err)}
		}
		return sinkError{failed}
	})
}

// seldom returns a Sink before a recorder, which gets no more heartbeats than it needs: others may ask for
// more (--settle), and each is a line.
func seldom(recorder event.Sink) event.Sink {
	var last time.Time
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		tooMany := func(e event.Event) bool {
			if e.Type != event.Heartbeat {
				return false
			}
			early := e.Time.Sub(last) < recording.HeartbeatInterval*9/10
			if !early {
				last = e.Time
			}
			return early
		}
		if slices.ContainsFunc(batch, func(e event.Event) bool { return e.Type == event.Heartbeat }) {
			if batch = slices.DeleteFunc(slices.Clone(batch), tooMany); len(batch) == 0 {
				return nil
			}
		}
		return recorder.Deliver(ctx, batch)
	})
}
