package recording

import (
	"context"
	"sync"
	"time"

	"dwatch/watcher/event"
)

// Asked is the recording of one of several clusters, and what is asked of it.
type ClusterQuery struct {
	*Recording
	Query Query
}

// PlayTogether is Play for several recordings: what it delivers is in the order of time, and that of each
// recording is as it is there. Each has a proof of its own, which knows nothing of the others. If sink ends
// that with an error, all proofs are about what was delivered by then.
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

// lane has what comes of one recording, a batch at a time. It is the Sink of that.
type mergeSource struct {
	batches     chan []event.Event // closed when there are no more
	replies     chan error         // what became of the last
	pending     []event.Event      // of the last batch
	awaitsReply bool               // for what becomes of it
	ended       bool
}

// Deliver implements event.Sink. It returns when all of a batch has gone on.
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

// next has the next event of the recording at the begin of rest, if there is one.
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

// answer says what became of the batch that waits for that.
func (l *mergeSource) reply(ctx context.Context, err error) {
	if !l.awaitsReply {
		return
	}
	select {
	case l.replies <- err:
	case <-ctx.Done():
	}
}

// merging delivers what comes of lanes in the order of time.
type merger struct {
	sources        []*mergeSource
	size           int // of a batch at most; 0: any
	sink           event.Sink
	deliveredUntil time.Time // of what was delivered last
}

func (m *merger) run(ctx context.Context) error {
	for {
		first, until := -1, time.Time{} // and when another one has the next
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

// deliver delivers the first of a lane, and what follows up to a time; zero: all that has come.
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
