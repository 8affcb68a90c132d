package destination

import (
	"context"

	"dwatch/cli/console"
	"dwatch/cli/run"
	"dwatch/watcher/event"
)

// Nothing drops all events. It is for runs whose stages do the work: conditions, a recording, or a replica that stands by.
type Nothing struct{ Needs run.Requirements }

var _ run.Destination = Nothing{}

// Requirements implements run.Destination.
func (n Nothing) Requirements() run.Requirements { return n.Needs }

// Prepare implements run.Destination.
func (Nothing) Prepare(*console.Console) error { return nil }

// Open implements run.Destination.
func (Nothing) Open(context.Context, *run.Environment) (run.Output, error) {
	return run.Output{Sink: event.SinkFunc(func(context.Context, []event.Event) error { return nil })}, nil
}

// Close implements run.Destination.
func (Nothing) Close() {}
