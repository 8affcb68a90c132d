package cli

import (
	"context"
	"os"
	"runtime"

	"dwatch/cli/gc"
	"dwatch/watcher/event"
)

// runGC is half of Go's default. Of what is kept the collector has little to look at, so
// that collecting twice as often hardly costs anything.
const runGC = 50

// tuneRun is for targets that are about to be watched or listed. The work of one
// watch is a chain of goroutines that pass on one event at a time: to spread it
// over several processors is to spend the most part on waking them up.
func tuneRun(targets int) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), max(targets, 1)))
	}
}

// tuneLong is for the long run, after the way to the first event that cli/gc is for.
func tuneLong() { gc.Set(runGC) }

// tuned ends the start with the first batch.
type tuned struct {
	next event.Sink
	done bool
}

func (t *tuned) Deliver(ctx context.Context, batch []event.Event) error {
	err := t.next.Deliver(ctx, batch)
	if !t.done {
		t.done = true
		tuneLong()
	}
	return err
}
