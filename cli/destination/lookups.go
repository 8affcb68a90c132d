package destination

import (
	"context"
	"sync"
	"time"

	"dwatch/cli/lookup"
	"dwatch/cli/run"
)

// lookups ask the server during a run for owners and Warnings of objects that need attention and are not watched. A nil one asks
// for nothing.
type lookups struct {
	above  *lookup.OwnerCache
	warned *lookup.WarningCache
	ended  chan struct{} // closed when nothing is asked any more
}

func newLookups(env *run.Environment) *lookups {
	return &lookups{lookup.NewOwnerCache(env.Scope.Lookup), lookup.NewWarningCache(env.Scope.Lookup, env.Config.Print.Compare.Masks), make(chan struct{})}
}

func (l *lookups) isAsking() bool { return l.above.HasPending() || l.warned.HasPending() }

// wait returns when all answers are there, or after lookup.Timeout.
func (l *lookups) wait() {
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

// during asks until watch returns.
func (l *lookups) during(ctx context.Context, watch func() error) error {
	if l == nil {
		return watch()
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer close(l.ended)
	defer asking.Wait()
	defer cancel()
	asking.Go(func() { l.above.Run(ctx) })
	asking.Go(func() { l.warned.Run(ctx) })
	return watch()
}
