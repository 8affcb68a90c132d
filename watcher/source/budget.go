package source

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// ByteBudget limits the memory of events between the server and the Sink, for all sources of a run
// together. An event takes its share before the informer receives it, and returns it when it has
// been delivered or when there is nothing to report. While the budget is exhausted, the sources do
// not read, which applies backpressure to the server.
//
// It can't deadlock, because events that hold a share do not wait for events that wait for one. The
// informer passes each event to the handler in order (client-go's RealFIFO merges nothing), the
// handler does not block, and the only kind of object that an informer drops is not given to it,
// see pass. An informer buffers the objects of a list until the list is complete. These objects
// take a share only for the observation that is passed on directly. A wait ends with the session.
type ByteBudget struct{ free *semaphore.Weighted }

const (
	// BudgetBytes is the limit. In addition, Go's HTTP/2 client buffers up to 4 MiB per watch, and
	// each watch decodes one event at a time.
	BudgetBytes = 4 << 20
	// EventOverhead is the memory of an event in addition to its content.
	EventOverhead = 1 << 10
)

// NewByteBudget returns an unused budget.
func NewByteBudget() *ByteBudget { return &ByteBudget{semaphore.NewWeighted(BudgetBytes)} }

// reserve waits for n bytes of content and returns the amount to release later. An event that is
// larger than the whole budget reserves all of it.
func (b *ByteBudget) reserve(ctx context.Context, n int) (reserved int64, err error) {
	reserved = min(int64(n)+EventOverhead, BudgetBytes)
	if err := b.free.Acquire(ctx, reserved); err != nil {
		return 0, context.Cause(ctx)
	}
	return reserved, nil
}

// Release returns an amount that reserve returned.
func (b *ByteBudget) Release(reserved int64) {
	if reserved > 0 {
		b.free.Release(reserved)
	}
}
