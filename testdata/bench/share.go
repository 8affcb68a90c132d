package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// share finds out which share of the machine went to programs that have no part
// in the benchmark: with more than a few percent, the table says little.
type share struct {
	since     time.Time
	all, ours time.Duration // CPU time until then
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

// end returns the share of others since begin, in percent of all cores. All
// children must have been waited for.
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

// allTime returns the CPU time that all cores have worked since the boot.
func allTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

// parseStat reads the content of /proc/stat. Its first line counts, in ticks
// that are 10 ms on every Linux: user, nice, system, idle, iowait, irq, softirq,
// and steal, which is what other machines on the same cores took.
func parseStat(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var ticks int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} { // all but idle and iowait
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
