package event

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Sink takes the events of a run: a printer, a filter before it, the file of
// --state. A stage is a Sink around another one.
type Sink interface {
	// Deliver delivers all of batch, in its order; nil means that it is delivered,
	// and an error ends the run. The end of a batch is the time to flush: nothing
	// else may come for hours.
	//
	// It is called from one goroutine. It may block, which holds back the server.
	// batch and what it holds may be read until the return, and is not kept; its
	// Objects may be. That ctx has ended means that the run is to end: what is in
	// batch has been received, and is to be delivered all the same, but a Sink that
	// waits for somebody else gives up then, with an error.
	Deliver(ctx context.Context, batch []Event) error
}

// SinkFunc is a function that is a Sink.
type SinkFunc func(ctx context.Context, batch []Event) error

// Deliver implements Sink.
func (f SinkFunc) Deliver(ctx context.Context, batch []Event) error { return f(ctx, batch) }

// Reported is what was reported of one object in an earlier run: which object, and
// up to which state.
type Reported struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Unsure: that run was ended while it reported that the object had been added,
	// and its reader may have got that or not. Of several with one name, each comes
	// after those that it took the place of; their deletion is as unsure.
	Unsure bool
}

// Past knows what earlier runs reported of a target. It calls take for each object
// that was reported and not deleted since. complete means that they reported all
// that existed at their start: what is new is then new since.
type Past func(t Target, take func(Reported)) (complete bool, err error)
