package recording

import (
	"context"
	"sync"
	"time"

	"dwatch/watcher/event"
)

// ClusterQuery is a query on the recording of one of several clusters.
type ClusterQuery struct {
	*Recording
	Query Query
}

// ReplayMerged replays several recordings and merges their events by time. The events of each recording stay in order. It
// returns a proof for each recording. If sink returns an error, ReplayMerged returns it with proofs for the delivered events.
func ReplayMerged(ctx context.Context, all []ClusterQuery, sink event.Sink) ([]*Proof, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	proofs, failed := make([]*Proof, len(all)), make([]error, len(all))
	lanes := make([]*mergeSource, len(all))
	var playing sync.WaitGroup
	for i, a := range all {
		l := &mergeSource{batches: make(chan []event.Event), replies: make(chan error)}
		lanes[i] = l
		playing.Go(func() {
			defer close(l.batches)
			proofs[i], failed[i] = a.Replay(ctx, a.Query, l)
		})
	}
	m := merger{sources: lanes, size: all[0].Query.BatchSize, sink: sink}
	stopped := m.run(ctx)
	for _, l := range lanes {
		l.reply(ctx, stopped)
	}
	playing.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if stopped != nil {
		for i, p := range proofs {
			proofs[i] = p.truncated(m.deliveredUntil)
		}
		return proofs, stopped
	}
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return proofs, nil
}

// mergeSource buffers a batch of one recording. It is the Sink of its replay.
type mergeSource struct {
	batches     chan []event.Event // closed after the last batch
	replies     chan error         // result of the last batch
	pending     []event.Event      // events of the last batch that have not been merged
	awaitsReply bool               // the replay waits for the result of the last batch
	ended       bool
}

// Deliver implements event.Sink. It returns when all events of the batch have been merged.
func (l *mergeSource) Deliver(ctx context.Context, batch []event.Event) error {
	select {
	case l.batches <- batch:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-l.replies:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next waits until pending has an event or the recording has ended.
func (l *mergeSource) next(ctx context.Context) error {
	for len(l.pending) == 0 && !l.ended {
		if l.awaitsReply {
			if l.reply(ctx, nil); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		var more bool
		select {
		case l.pending, more = <-l.batches:
			l.awaitsReply, l.ended = more, !more
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// reply returns the result of the last batch to a replay that waits for it.
func (l *mergeSource) reply(ctx context.Context, err error) {
	if !l.awaitsReply {
		return
	}
	select {
	case l.replies <- err:
	case <-ctx.Done():
	}
}

// merger delivers the events of several recordings in the order of time.
type merger struct {
	sources        []*mergeSource
	size           int // maximum number of events per batch; zero means no limit
	sink           event.Sink
	deliveredUntil time.Time // time of the last delivered event
}

func (m *merger) run(ctx context.Context) error {
	for {
		first, until := -1, time.Time{} // until is the time of the next event of another source
		for i, l := range m.sources {
			if err := l.next(ctx); err != nil {
				return err
			}
			switch {
			case len(l.pending) == 0:
			case first < 0:
				first = i
			case l.pending[0].Time.Before(m.sources[first].pending[0].Time):
				first, until = i, m.sources[first].pending[0].Time
			case until.IsZero() || l.pending[0].Time.Before(until):
				until = l.pending[0].Time
			}
		}
		if first < 0 {
			return nil
		}
		if err := m.deliver(ctx, m.sources[first], until); err != nil {
			return err
		}
	}
}

// deliver delivers the next event of a source, and its pending events up to a time. Zero means all pending events.
func (m *merger) deliver(ctx context.Context, l *mergeSource, until time.Time) error {
	n := 1
	for n < len(l.pending) && n != m.size && (until.IsZero() || !l.pending[n].Time.After(until)) {
		n++
	}
	batch := l.pending[:n]
	l.pending = l.pending[n:]
	m.deliveredUntil = batch[n-1].Time
	return m.sink.Deliver(ctx, batch)
}
