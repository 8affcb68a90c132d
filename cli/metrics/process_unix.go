//go:build unix

package metrics

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func cpuTime() (time.Duration, bool) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err == nil
}

// residentMemory is known where there is a /proc as Linux has it.
func residentMemory() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}

func openFiles() (float64, bool) {
	files, err := os.ReadDir("/proc/self/fd")
	return float64(len(files) - 1), err == nil // without the one that it is read by
}
