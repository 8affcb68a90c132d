package run

import (
	"context"
	"os"
	"runtime"

	"dwatch/cli/gc"
	"dwatch/watcher/event"
)

// runGC is half of Go's default. The collector has little to scan in what dwatch keeps, so that collecting twice as often costs little.
const runGC = 50

// clustersGC is runGC for several clusters. A collection scans what is kept of all of them: with 50, five clusters take as much CPU
// as five runs do; with 75 they take 0.85 of it and 2 MB more.
const clustersGC = 75

// TuneTargets limits the processors to the number of targets that are about to be watched or listed. One watch is a chain of
// goroutines that pass on one event at a time: on several processors most of the time goes into waking them up.
func TuneTargets(targets int) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), max(targets, 1)))
	}
}

// processors is how many processors the process may use.
var processors = runtime.GOMAXPROCS(0)

// TuneMore raises the limit of TuneTargets for more targets than before.
func TuneMore(targets int) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(processors, max(targets, runtime.GOMAXPROCS(0))))
	}
}

// TuneLong sets the garbage collector for work that takes long. Package gc sets it for the way to the first event.
func TuneLong() { gc.Set(runGC) }

// tuneAfterStart returns a Sink before next that sets the garbage collector after the first batch.
func tuneAfterStart(percent int, next event.Sink) event.Sink {
	done := false
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		err := next.Deliver(ctx, batch)
		if !done {
			done = true
			gc.Set(percent)
		}
		return err
	})
}
