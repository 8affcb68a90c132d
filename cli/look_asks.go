package cli

import (
	"context"
	"sync"
	"time"

	"dwatch/cli/lookup"
)

// lookAsks asks the server, beside the run, what those who say what needs a look want to know of what is not watched. A nil
// one asks nothing.
type lookAsks struct {
	above  *lookup.OwnerCache
	warned *lookup.WarningCache
	ended  chan struct{} // closed when nothing is asked any more
}

func newLookAsks(w *watching) *lookAsks {
	return &lookAsks{lookup.NewOwnerCache(w.asks), lookup.NewWarningCache(w.asks, w.print.Compare.Masks), make(chan struct{})}
}

func (l *lookAsks) isAsking() bool { return l.above.HasPending() || l.warned.HasPending() }

// answers returns when what is asked for is known, or that takes long.
func (l *lookAsks) answers() {
	if l == nil {
		return
	}
	late := time.After(lookup.Timeout)
	for l.isAsking() {
		select {
		case <-time.After(tick / 10):
		case <-late:
			return
		case <-l.ended:
			return
		}
	}
}

// beside asks until run returns.
func (l *lookAsks) beside(ctx context.Context, run func() error) error {
	if l == nil {
		return run()
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer close(l.ended)
	defer asking.Wait()
	defer cancel()
	asking.Go(func() { l.above.Run(ctx) })
	asking.Go(func() { l.warned.Run(ctx) })
	return run()
}
