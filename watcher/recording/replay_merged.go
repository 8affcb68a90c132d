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
	lanes := make([]*lane, len(all))
	var playing sync.WaitGroup
	for i, a := range all {
		l := &lane{batches: make(chan []event.Event), taken: make(chan error)}
		lanes[i] = l
		playing.Go(func() {
			defer close(l.batches)
			proofs[i], failed[i] = a.Replay(ctx, a.Query, l)
		})
	}
	m := merging{lanes: lanes, size: all[0].Query.BatchSize, sink: sink}
	stopped := m.run(ctx)
	for _, l := range lanes {
		l.answer(ctx, stopped)
	}
	playing.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if stopped != nil {
		for i, p := range proofs {
			proofs[i] = p.until(m.at)
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
type lane struct {
	batches chan []event.Event // closed when there are no more
	taken   chan error         // what became of the last
	rest    []event.Event      // of the last batch
	waits   bool               // for what becomes of it
	ended   bool
}

// Deliver implements event.Sink. It returns when all of a batch has gone on.
func (l *lane) Deliver(ctx context.Context, batch []event.Event) error {
	select {
	case l.batches <- batch:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-l.taken:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next has the next event of the recording at the begin of rest, if there is one.
func (l *lane) next(ctx context.Context) error {
	for len(l.rest) == 0 && !l.ended {
		if l.waits {
			if l.answer(ctx, nil); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		var more bool
		select {
		case l.rest, more = <-l.batches:
			l.waits, l.ended = more, !more
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// answer says what became of the batch that waits for that.
func (l *lane) answer(ctx context.Context, err error) {
	if !l.waits {
		return
	}
	select {
	case l.taken <- err:
	case <-ctx.Done():
	}
}

// merging delivers what comes of lanes in the order of time.
type merging struct {
	lanes []*lane
	size  int // of a batch at most; 0: any
	sink  event.Sink
	at    time.Time // of what was delivered last
}

func (m *merging) run(ctx context.Context) error {
	for {
		first, until := -1, time.Time{} // and when another one has the next
		for i, l := range m.lanes {
			if err := l.next(ctx); err != nil {
				return err
			}
			switch {
			case len(l.rest) == 0:
			case first < 0:
				first = i
			case l.rest[0].Time.Before(m.lanes[first].rest[0].Time):
				first, until = i, m.lanes[first].rest[0].Time
			case until.IsZero() || l.rest[0].Time.Before(until):
				until = l.rest[0].Time
			}
		}
		if first < 0 {
			return nil
		}
		if err := m.deliver(ctx, m.lanes[first], until); err != nil {
			return err
		}
	}
}

// deliver delivers the first of a lane, and what follows up to a time; zero: all that has come.
func (m *merging) deliver(ctx context.Context, l *lane, until time.Time) error {
	n := 1
	for n < len(l.rest) && n != m.size && (until.IsZero() || !l.rest[n].Time.After(until)) {
		n++
	}
	batch := l.rest[:n]
	l.rest = l.rest[n:]
	m.at = batch[n-1].Time
	return m.sink.Deliver(ctx, batch)
}
