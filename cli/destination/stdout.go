package destination

import (
	"context"

	"dwatch/cli/console"
	"dwatch/cli/run"
	"dwatch/output"
)

// Stdout prints events to stdout in a format of package output.
type Stdout struct{ Needs run.Requirements }

var _ run.Destination = Stdout{}

// Requirements implements run.Destination.
func (s Stdout) Requirements() run.Requirements {
	s.Needs.Stdout = true
	return s.Needs
}

// Prepare implements run.Destination.
func (Stdout) Prepare(*console.Console) error { return nil }

// Open implements run.Destination.
func (Stdout) Open(_ context.Context, env *run.Environment) (run.Output, error) {
	printer, err := output.New(env.Console.Out, env.Print)
	return run.Output{Sink: printer}, err
}

// Close implements run.Destination.
func (Stdout) Close() {}
