package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time, user and system, that all threads of a process
// have used, ended ones included. It is the sum in /proc/PID/stat, but read from
// the clock that Linux keeps for each process: in nanoseconds rather than in
// ticks of 10 ms, more than curl needs for a thousand events.
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	const scheduled = 2 // CPUCLOCK_SCHED: as clock_getcpuclockid of the C library
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ownTime returns the CPU time that this program and all children that it has
// waited for have used, and their children.
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

// enlarge gives a pipe a buffer of size bytes.
func enlarge(pipe *os.File, size int) error {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	// Fd would do, but makes reads block, which then take no deadline.
	err = conn.Control(func(fd uintptr) { _, failed = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("enlarge a pipe: %w", err)
	}
	return nil
}
