package run

import (
	"context"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/metrics"
	"dwatch/output"
	"dwatch/watcher/event"
)

// Destination is where the events of a run go.
type Destination interface {
	// Requirements says what the destination needs of the events and of the run.
	Requirements() Requirements
	// Prepare does what needs no cluster, such as listening or reading files. Its errors are usage errors.
	Prepare(*console.Console) error
	// Open opens the destination once the source knows what the run is about.
	Open(ctx context.Context, env *Environment) (Output, error)
	// Close undoes Prepare. It is called once, after everything else, unless Prepare has failed.
	Close()
}

// Requirements are what a destination needs. The zero value is a destination that needs the events alone. Its fields are
// independent of each other.
type Requirements struct {
	Old           bool // the previous state of an object
	ManagedFields bool
	Tables        bool // the row that the server shows for an object
	WholeObjects  bool // whole objects in addition to their rows
	Events        bool // Kubernetes Events about an object that a user looks at
	Revisions     bool // former templates of a workload that a user looks at
	Identity      bool // which cluster the events come from
	States        bool // whether objects are ready
	Outbox        bool // the state file contains events that wait for a receiver

	Stdout      bool // the destination writes to stdout, and blocks if its reader is stuck
	Interactive bool // a person sees the events as they come
	FoldSeries  bool // an Event that is repeated within a batch is shown once
	OwnWhere    bool // the destination evaluates --where itself, since it has to know which objects leave the selection
	CountsAll   bool // the destination counts events that filters leave out: Output.Count

	Lasting bool // the destination keeps all processors busy
	Workers int  // goroutines that the destination keeps busy
}

// Environment is what a destination gets when it is opened.
type Environment struct {
	Console *console.Console
	Config  *Config
	Scope   *Scope
	// Print is Config.Print with what the scope adds: the columns for namespaces and clusters.
	Print output.Options
	// Where evaluates --where for a destination with OwnWhere. It is nil if --where is not given. One goroutine may use it.
	Where func(*event.Event) bool
	// State is the file of --state, or nil.
	State   *State
	Metrics *metrics.Metrics
	// Recordings are the recordings that the run writes. It is nil without --record.
	Recordings *Recordings
	// Fail ends the run with an error. It may be called at any time.
	Fail context.CancelCauseFunc
}

// Output is an opened destination. All fields but Sink may be nil.
type Output struct {
	Sink event.Sink
	// Note shows connection status between the events. If nil, stderr gets it.
	Note func(at time.Time, text string)
	// Count takes the events that filters leave out, too, before Sink gets the others.
	Count func(batch []event.Event) error
	// Shown is how many events the destination has shown. If nil, it shows every event.
	Shown func() int
	// Around calls watch and runs the work of the destination next to it. It returns an error if either fails. cancel ends the watch.
	Around func(ctx context.Context, cancel context.CancelCauseFunc, watch func() error) error
	// Status says how much went where, or is empty.
	Status func() string
	// Hidden says how many events are not shown and why, or is empty.
	Hidden func() string
	// Problems lists what needs attention, a line each.
	Problems func() []string
}

// withDefaults replaces the nil functions of o.
func (o Output) withDefaults() Output {
	if o.Around == nil {
		o.Around = func(_ context.Context, _ context.CancelCauseFunc, watch func() error) error { return watch() }
	}
	if o.Status == nil {
		o.Status = func() string { return "" }
	}
	if o.Hidden == nil {
		o.Hidden = func() string { return "" }
	}
	if o.Problems == nil {
		o.Problems = func() []string { return nil }
	}
	return o
}
