package cli

import (
	"context"

	"dwatch/watcher/event"
)

// batches hands on, as batches, what comes one by one.
type batches struct {
	sink  event.Sink
	batch []event.Event
}

// maxBatch is how many events may wait for others.
const maxBatch = 128

func (b *batches) add(ctx context.Context, e event.Event) error {
	b.batch = append(b.batch, e)
	if len(b.batch) < maxBatch {
		return nil
	}
	return b.deliver(ctx)
}

func (b *batches) deliver(ctx context.Context) error {
	if len(b.batch) == 0 {
		return nil
	}
	err := b.sink.Deliver(ctx, b.batch)
	clear(b.batch)
	b.batch = b.batch[:0]
	return err
}
