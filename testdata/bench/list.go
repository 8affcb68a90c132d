package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// podMark is in a printed list once for each pod.
const podMark = `"kind": "Pod"`

// list measures a contender that prints all pods and ends.
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

// listing is what is found out about a list while it is read. It is read in
// large pieces rather than lines, of which an indented list has millions.
type listing struct {
	first time.Time // when the first piece had come
	bytes int64
	pods  int
	peak  int64 // memory of the process, in bytes

	looked time.Time // when peak was read
}

// read reads all that p prints.
func (l *listing) read(p *process) error {
	if err := p.stdout.SetReadDeadline(time.Now().Add(syncPatience)); err != nil {
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
		kept = copy(buf, piece[max(0, len(piece)-len(podMark)+1):]) // a mark may be cut in two
		l.look(p, now)
	}
}

// look reads the memory now and then: at the end, when a watcher is asked, a
// program that has printed its list is gone. As the peak never falls, what is
// missed is what a last few milliseconds add.
func (l *listing) look(p *process, now time.Time) {
	if now.Sub(l.looked) < 5*time.Millisecond {
		return
	}
	l.looked = now
	if m, err := memoryOf(p.pid()); err == nil { // else it has just ended
		l.peak = m.peak
	}
}
