package watcher

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// gate bounds what is on its way from the wire to the reader, for all targets of
// a run together. An event enters before the informer is given it, and leaves
// when emit has returned, or at once if there is nothing to tell about it. While
// the gate is full the wire does not read, and so the server is held back.
//
// It can't deadlock. What has entered does not wait for what has not: the
// informer hands each event that it was given to the handler exactly once, in
// order (client-go's RealFIFO merges nothing), and the handler waits for nothing
// but emit. The objects of a sync, all
// of which the informer keeps back until the last one has come, do not enter for
// the informer's sake; those that are shown to the reader right away enter for
// that and leave by themselves. A wait ends with the session.
type gate struct{ free *semaphore.Weighted }

const (
	// gateBytes is the bound. Beside it each connection may hold 4 MiB that
	// HTTP/2 has received, and one event at a time is being decoded.
	gateBytes = 16 << 20
	// eventBytes is what an event takes on its way beside its content.
	eventBytes = 1 << 10
)

func newGate() gate { return gate{semaphore.NewWeighted(gateBytes)} }

// enter waits for room for an event with n bytes of content, and returns what
// has to leave again. An event larger than the gate goes through it alone.
func (g gate) enter(ctx context.Context, n int) (held int64, err error) {
	held = min(int64(n)+eventBytes, gateBytes)
	return held, g.free.Acquire(ctx, held)
}

func (g gate) leave(held int64) {
	if held > 0 {
		g.free.Release(held)
	}
}
