package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory is the memory of a process in bytes.
type memory struct {
	peak int64 // maximum resident memory since its start
	now  int64 // resident memory
	// binary is the resident memory of mapped files, which are mostly the program itself.
	binary int64
}

// memoryOf reads the memory of a process. The peak that wait reports cannot be used, because it includes the
// memory of the parent before exec.
func memoryOf(pid int) (memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	return parseStatus(string(status))
}

// bytesReadBy returns the number of bytes that a process has read from the network and from files.
func bytesReadBy(pid int) (int64, error) {
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	return parseIO(string(io))
}

// parseIO parses the first line of /proc/PID/io, which contains the number of bytes read.
func parseIO(io string) (int64, error) {
	line, _, _ := strings.Cut(io, "\n")
	value, found := strings.CutPrefix(line, "rchar: ")
	if !found {
		return 0, fmt.Errorf("unexpected first line of /proc/PID/io: %q", line)
	}
	return strconv.ParseInt(value, 10, 64)
}

// parseStatus parses /proc/PID/status.
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
