package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"dwatch/cli/flags"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// recordedEach is a run that records several clusters: each into a directory of its own, as if it were the
// only one, so that what is proven of it has nothing to do with the others.
type recordedEach struct {
	direct
	dir    string
	keep   flags.Retention
	beside bool // it is not all that becomes of the events
	set    *recording.MultiClusterDir
}

func (r *recordedEach) prepare(c *console) (err error) {
	all := intoDir{dir: r.dir}
	if r.set, err = recording.OpenMultiClusterDir(r.dir); err != nil {
		return all.unopened(err)
	}
	c.warnReadable("the recording", r.dir)
	return nil
}

func (r *recordedEach) close() {
	if r.set != nil {
		r.set.Close()
	}
}

// open returns what takes the events for what is counted: each cluster has recorded its own by then.
func (r *recordedEach) open(ctx context.Context, w *watching, failed func(error)) (event.Sink, error) {
	return nowhere{}.open(ctx, w, failed)
}

// record prepares to record a session, where that is asked for: it says how it is to be watched, and returns
// what ends it.
func (m *member) record(ctx context.Context, s *session, o *watcher.Options) (note string, end func() error, err error) {
	m.into = m.fleet
	to := m.fleet.recordsEach()
	if to == nil {
		return "", func() error { return nil }, nil
	}
	into := &intoDir{dir: filepath.Join(to.dir, recording.ClusterDirName(m.name)), keep: to.keep, beside: to.beside}
	if b := m.fleet.beside; b != nil {
		into.shown = b.runs.of(m.name)
	}
	if err := into.prepare(s.console); err != nil {
		return "", nil, err
	}
	into.demand(o)
	sink, err := into.begin(ctx, m.fleet.watching, s)
	if err != nil {
		into.close()
		return "", nil, err
	}
	m.into = into.before(unnamed(sink), m.fleet)
	return into.note(), func() error {
		if !m.answered { // tries that come to nothing leave nothing behind
			return into.recorder.Discard()
		}
		return into.recorder.Close()
	}, nil
}

// unnamed is a Sink before next, which knows of one cluster only.
func unnamed(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		own := slices.Clone(batch)
		for i := range own {
			own[i].Target.Cluster = ""
		}
		return next.Deliver(ctx, own)
	})
}

// recordsEach is what records each cluster; nil: nothing does.
func (f *fleet) recordsEach() *recordedEach {
	if f.beside != nil {
		return f.beside.each
	}
	each, _ := f.to.(*recordedEach)
	return each
}

// Deliver implements event.Sink, for what comes of the member's watch. It is recorded first, while those of
// others are, too: none waits for the disk of another.
func (m *member) Deliver(ctx context.Context, batch []event.Event) error {
	return m.into.Deliver(ctx, batch)
}

// recordedTo ends the recording of a session that ended with err.
func recordedTo(end func() error, err error) error {
	if failed := end(); failed != nil && !isLoss(err) {
		return errors.Join(err, sinkError{failed})
	}
	return err
}
