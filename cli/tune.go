package cli

import (
	"cmp"
	"context"
	"os"
	"runtime"

	"dwatch/cli/gc"
	"dwatch/watcher/event"
)

// runGC is half of Go's default. Of what is kept the collector has little to look at, so
// that collecting twice as often hardly costs anything.
const runGC = 50

// fleetGC is runGC for several clusters. A collection looks at what is kept of all of them: with 50 five of them take as
// much CPU as five runs do, with this 0.85 of it, and 2 MB more.
const fleetGC = 75

// tuneRun is for targets that are about to be watched or listed. The work of one
// watch is a chain of goroutines that pass on one event at a time: to spread it
// over several processors is to spend the most part on waking them up.
func tuneRun(targets int) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), max(targets, 1)))
	}
}

// processors are those that the process may use.
var processors = runtime.GOMAXPROCS(0)

// tuneMore is tuneRun for more than there was before.
func tuneMore(targets int) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(processors, max(targets, runtime.GOMAXPROCS(0))))
	}
}

// tuneLong is for the long run, after the way to the first event that cli/gc is for.
func tuneLong() { gc.Set(runGC) }

// tuned ends the start with the first batch.
type tuned struct {
	next event.Sink
	gc   int // 0: runGC
	done bool
}

func (t *tuned) Deliver(ctx context.Context, batch []event.Event) error {
	err := t.next.Deliver(ctx, batch)
	if !t.done {
		t.done = true
		gc.Set(cmp.Or(t.gc, runGC))
	}
	return err
}
