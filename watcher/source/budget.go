package source

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Gate bounds what is on its way from the server to the reader, for all sources of a run together.
// An event enters before the informer is given it, and leaves when it has been delivered, or when
// there is nothing to report about it. While the gate is full the sources do not read, and so the
// server is held back.
//
// It can't deadlock. What has entered does not wait for what has not: the informer passes each
// event that it was given to the handler in order (client-go's RealFIFO merges nothing), the
// handler waits for nothing, and the one kind of object that an informer passes over is not given
// to it, see pass. The objects of a sync, all of which the informer keeps back until the last one
// has come, do not enter on their way to it; those that the observer is shown at once enter for
// that, and leave when they are delivered. A wait ends with the session.
type ByteBudget struct{ free *semaphore.Weighted }

const (
	// GateBytes is the bound. Beside it each connection may hold 4 MiB that HTTP/2 has received,
	// and one event at a time is being decoded.
	BudgetBytes = 4 << 20
	// EventBytes is what an event takes on its way beside its content.
	EventOverhead = 1 << 10
)

// NewGate returns a Gate that nothing has entered.
func NewByteBudget() *ByteBudget { return &ByteBudget{semaphore.NewWeighted(BudgetBytes)} }

// enter waits for room for an event with n bytes of content, and returns how much has to leave
// again. An event larger than the gate goes through it alone.
func (g *ByteBudget) enter(ctx context.Context, n int) (held int64, err error) {
	held = min(int64(n)+EventOverhead, BudgetBytes)
	if err := g.free.Acquire(ctx, held); err != nil {
		return 0, context.Cause(ctx)
	}
	return held, nil
}

// Leave makes room again.
func (g *ByteBudget) Release(held int64) {
	if held > 0 {
		g.free.Release(held)
	}
}
