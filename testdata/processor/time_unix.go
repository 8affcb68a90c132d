//go:build unix

// Package processor tells tests how much work something was.
package processor

import (
	"syscall"
	"time"
)

// Time returns how long the processor has worked for this process. A test that asks how a function's
// work grows compares that: the time on the wall is also that of all others on the machine.
func Time() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it has no error that is not a mistake here
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
