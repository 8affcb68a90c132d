// Package gc sets how far the heap may grow before the garbage collector runs.
//
// Importing the package lets the heap grow to 16 MB, which a process does not reach before its first event. A collection
// before that would free almost nothing, because data that packages allocate during initialization stays in use. Go
// initializes packages in the order of their paths after their imports. This package imports almost nothing, so it is
// initialized before the packages of k8s.io, which allocate most.
package gc

import (
	"os"
	"runtime/debug"
)

func init() { Set(400) }

// Set lets the heap grow by a percentage of the memory in use, and at least to that percentage of 4 MB. It does nothing if
// the environment sets GOGC.
func Set(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
