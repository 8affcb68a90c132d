package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// share measures the share of CPU time that other programs used during the benchmark. If it is more than a few
// percent, the results are not reliable.
type share struct {
	since     time.Time
	all, ours time.Duration // CPU time used before since
}

// begin marks the start of the benchmark.
func (s *share) begin() (err error) {
	s.since = time.Now()
	if s.all, err = allTime(); err != nil {
		return err
	}
	s.ours, err = ownTime()
	return err
}

// end returns the share of other programs since begin, in percent of all cores. All children must have been
// waited for.
func (s *share) end() (percent float64, err error) {
	all, err := allTime()
	if err != nil {
		return 0, err
	}
	ours, err := ownTime()
	if err != nil {
		return 0, err
	}
	others := (all - s.all) - (ours - s.ours)
	return max(0, 100*others.Seconds()/time.Since(s.since).Seconds()/float64(runtime.NumCPU())), nil
}

// allTime returns the CPU time that all cores have used since boot.
func allTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

// parseStat parses /proc/stat. Its first line contains times in ticks, which are 10 ms on every Linux: user, nice,
// system, idle, iowait, irq, softirq and steal. steal is the time that other virtual machines used.
func parseStat(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("unexpected first line of /proc/stat: %q", line)
	}
	var ticks int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} { // all except idle and iowait
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
