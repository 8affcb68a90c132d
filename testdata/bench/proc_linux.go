package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the user and system CPU time of all threads of a process, including ended threads. It is the sum in
// /proc/PID/stat, but read from the CPU clock of the process, with a resolution of nanoseconds. The ticks in stat are
// 10 ms, and curl needs less for a thousand events.
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	const scheduled = 2 // CPUCLOCK_SCHED, as in clock_getcpuclockid of the C library
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ownTime returns the CPU time of this program and of all descendants that were waited for.
func ownTime() (time.Duration, error) {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var usage unix.Rusage
		if err := unix.Getrusage(who, &usage); err != nil {
			return 0, fmt.Errorf("CPU time of the benchmark: %w", err)
		}
		sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return sum, nil
}

// enlarge sets the buffer size of a pipe.
func enlarge(pipe *os.File, size int) error {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	// Fd would make reads blocking, so that deadlines have no effect.
	err = conn.Control(func(fd uintptr) { _, failed = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("enlarge a pipe: %w", err)
	}
	return nil
}
