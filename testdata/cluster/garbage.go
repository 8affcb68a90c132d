package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// unswept is how far the memory may grow before anything is collected. A start takes 230 MB, and most
// test servers end before they come to this.
const unswept = 352 << 20

// collectSeldom has the garbage collector do little: much is allocated at the start and for each write,
// and test beds share their machine with many processes. At first nothing is collected, which is a fifth
// of the CPU of a start; once the heap has grown, for twice the memory a quarter of that of a write.
// Who sets GOGC knows better.
func collectSeldom() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(unswept)
	runtime.AddCleanup(&struct{ _ [64]byte }{}, func(struct{}) { // with the first collection
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}
