//go:build unix

// Package processor measures the processor time that a test uses.
package processor

import (
	"syscall"
	"time"
)

// Time returns the processor time that the process has used. Tests of a function's complexity compare it, because
// elapsed time also depends on other processes.
func Time() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // only a wrong argument makes it fail
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
