package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// podMark occurs once for each pod in a printed list.
const podMark = `"kind": "Pod"`

// list measures a contender that prints all pods and exits.
func (b *bench) list(ctx context.Context, c contender) error {
	p, err := start(ctx, c.list, b.env, false)
	if err != nil {
		return err
	}
	var printed listing
	if err := printed.read(p); err != nil {
		return p.end(err)
	}
	all := p.since(time.Now())
	if err := p.cmd.Wait(); err != nil {
		return p.end(err)
	}
	if printed.pods != b.pods {
		return p.end(fmt.Errorf("%d of %d pods listed", printed.pods, b.pods))
	}
	used := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	b.found.add(c.name, firstOut, p.since(printed.first))
	b.found.add(c.name, allOut, all)
	b.found.add(c.name, syncCPU, used.Seconds())
	b.found.add(c.name, syncPeak, float64(printed.peak))
	b.found.add(c.name, bytesOut, float64(printed.bytes))
	return p.end(nil)
}

// listing reads a list and measures it. It reads large chunks instead of lines, because an indented list has
// millions of lines.
type listing struct {
	first time.Time // when the first chunk arrived
	bytes int64
	pods  int
	peak  int64 // peak memory of the process in bytes

	sampledAt time.Time // when peak was read last
}

// read reads the complete output of p.
func (l *listing) read(p *process) error {
	if err := p.stdout.SetReadDeadline(time.Now().Add(syncTimeout)); err != nil {
		return err
	}
	buf, kept := make([]byte, pipeSize), 0
	for {
		n, err := p.stdout.Read(buf[kept:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		now := time.Now()
		if l.bytes == 0 {
			l.first = now
		}
		l.bytes += int64(n)
		piece := buf[:kept+n]
		l.pods += bytes.Count(piece, []byte(podMark))
		kept = copy(buf, piece[max(0, len(piece)-len(podMark)+1):]) // podMark may be split between two reads
		l.sampleMemory(p, now)
	}
}

// sampleMemory reads the peak memory at most every 5 ms, because it cannot be read after the process has exited. The
// result misses only an increase in the last few milliseconds.
func (l *listing) sampleMemory(p *process, now time.Time) {
	if now.Sub(l.sampledAt) < 5*time.Millisecond {
		return
	}
	l.sampledAt = now
	if m, err := memoryOf(p.pid()); err == nil { // an error means that it has just exited
		l.peak = m.peak
	}
}
