// Package gc says how far the heap may grow before garbage is collected.
//
// At the start of the process it may grow to 16 MB, which the way to the first event does not
// fill: what the other packages allocate while they are initialized is not garbage. Go
// initializes packages in the order of their paths, as far as what they import is ready;
// this one imports next to nothing, and so comes before those that allocate much, k8s.io's.
package gc

import (
	"os"
	"runtime/debug"
)

func init() { Set(400) }

// Set lets the heap grow by a percentage of what is in use, and at least to that percentage
// of 4 MB. Who sets GOGC knows better.
func Set(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
