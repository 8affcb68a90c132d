package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// unswept is the memory limit for the first garbage collection. A start takes 230 MB, and most test servers end before
// they reach the limit.
const unswept = 352 << 20

// collectSeldom reduces the work of the garbage collector, because a start and each write allocate a lot, and test beds
// share their machine with many processes. At first it is off, which saves a fifth of the CPU time of a start. Once the
// heap has reached the limit, GOGC=400 saves a quarter of the CPU time of a write for twice the memory. If GOGC is set,
// collectSeldom does nothing.
func collectSeldom() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(unswept)
	runtime.AddCleanup(&struct{ _ [64]byte }{}, func(struct{}) { // runs after the first collection
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}
