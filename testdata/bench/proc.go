package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory is what a process uses, in bytes.
type memory struct {
	peak int64 // resident, at most, since its start
	now  int64 // resident
	// binary is what is resident of files: the program itself.
	binary int64
}

// memoryOf asks the kernel for the memory of a process. What wait reports would
// not do: its peak includes that of the parent before the exec.
func memoryOf(pid int) (memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	return parseStatus(string(status))
}

// bytesReadBy asks the kernel how much a process has read, from the network and of files.
func bytesReadBy(pid int) (int64, error) {
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	return parseIO(string(io))
}

// parseIO reads the content of /proc/PID/io, which begins with what was read.
func parseIO(io string) (int64, error) {
	line, _, _ := strings.Cut(io, "\n")
	value, found := strings.CutPrefix(line, "rchar: ")
	if !found {
		return 0, fmt.Errorf("/proc/PID/io begins with %q", line)
	}
	return strconv.ParseInt(value, 10, 64)
}

// parseStatus reads the content of /proc/PID/status.
func parseStatus(status string) (memory, error) {
	var m memory
	for name, to := range map[string]*int64{"VmHWM:": &m.peak, "VmRSS:": &m.now, "RssFile:": &m.binary} {
		_, rest, found := strings.Cut(status, "\n"+name)
		if !found {
			return m, fmt.Errorf("no %s in the status: the process has ended", name)
		}
		value, _, _ := strings.Cut(rest, "\n")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return m, fmt.Errorf("status %s %w", name, err)
		}
		*to = kib * 1024
	}
	return m, nil
}
