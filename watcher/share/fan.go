package share

import (
	"context"

	"dwatch/watcher/event"
)

// Fan is a Sink that gives each batch to Branches.
type Fan struct{ branches []*Branch }

var _ event.Sink = (*Fan)(nil)

// New returns a Fan for branches, of which each belongs to one Fan.
func New(branches ...*Branch) *Fan { return &Fan{branches} }

// Deliver implements event.Sink. It never fails: what a Branch ends with is returned by its Run.
func (f *Fan) Deliver(ctx context.Context, batch []event.Event) error {
	for _, b := range f.branches {
		b.take(ctx, batch, f.isShared)
	}
	return nil
}

// isShared reports whether more than one gets the batches.
func (f *Fan) isShared() bool {
	n := 0
	for _, b := range f.branches {
		if b.IsShared() {
			n++
		}
	}
	return n > 1
}

// Close says that Deliver is not called any more.
func (f *Fan) Close() {
	for _, b := range f.branches {
		b.close()
	}
}
