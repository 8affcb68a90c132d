package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// syncTimeout is how long a contender may print nothing before all pods are printed. kubectl begins to print when
	// it has received all pods.
	syncTimeout = 5 * time.Minute
	// churnTimeout is how long an update may take to arrive. The first one takes longer, because the writer lists all
	// pods first.
	churnTimeout = time.Minute
	// settleTime is the delay between the last pod and measuring the memory. It is a fixed time, because there is no
	// event when a process has returned its memory. The last garbage collection takes well below a second, and after it
	// the memory shrinks only slowly, over minutes.
	settleTime = 2 * time.Second
)

// watcher is a running contender that watches pods.
type watcher struct {
	*bench
	*process
	name string
	lineFormat
}

// watch measures a contender that watches all pods.
func (b *bench) watch(ctx context.Context, c contender) error {
	p, err := start(ctx, c.watch, b.env, c.page)
	if err != nil {
		return err
	}
	p.lines.isEvent = c.lineFormat.isEvent
	w := &watcher{b, p, c.name, c.lineFormat}
	viewing, leave := context.WithCancel(ctx)
	defer w.viewers.Wait()
	defer leave()
	viewers := func() error { return w.view(viewing) }
	for _, part := range []func() error{w.sync, viewers, w.rest, w.fullSpeed, w.steady, w.finalMemory} {
		if err := part(); err != nil {
			return p.end(err)
		}
	}
	return p.end(nil)
}

// add records a measured value.
func (w *watcher) add(m metric, value float64) { w.found.add(w.name, m, value) }

// sync measures the time, CPU and output until the first and the last pod.
func (w *watcher) sync() error {
	if _, err := w.lines.follow(1, syncTimeout, nil); err != nil {
		return err
	}
	w.add(firstOut, w.since(w.lines.at))
	initial := w.lineFormat.initial(w.pods)
	if got, err := w.lines.follow(initial-1, syncTimeout, nil); err != nil {
		return fmt.Errorf("read %d of %d lines for the pods: %w", 1+got, initial, err)
	}
	used, err := cpuTime(w.pid())
	if err != nil {
		return err
	}
	w.add(allOut, w.since(w.lines.at))
	w.add(syncCPU, used.Seconds())
	if w.page == nil {
		w.add(bytesOut, float64(w.lines.taken))
	}
	return nil
}

// rest measures the memory after the initial pods.
func (w *watcher) rest() error {
	for until := time.Now().Add(settleTime); ; {
		line, err := w.lines.next(time.Until(until))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
		if w.isEvent(line) {
			return fmt.Errorf("unexpected event without an update: %.200s", line)
		}
	}
	m, err := memoryOf(w.pid())
	if err != nil {
		return err
	}
	w.add(syncPeak, float64(m.peak))
	w.add(settled, float64(m.now))
	return nil
}

// finalMemory measures the peak memory after all updates.
func (w *watcher) finalMemory() error {
	m, err := memoryOf(w.pid())
	if err != nil {
		return err
	}
	w.add(churnPeak, float64(m.peak))
	return nil
}

// fullSpeed measures updates of large pods at full speed.
func (w *watcher) fullSpeed() error {
	before, err := cpuTime(w.pid())
	if err != nil {
		return err
	}
	var first time.Time
	got, err := w.churn(heavy, w.updates, 0, func([]byte) {
		if first.IsZero() {
			first = w.lines.at
		}
	})
	if err != nil {
		return err
	}
	after, err := cpuTime(w.pid())
	if err != nil {
		return err
	}
	if got < 2 {
		return fmt.Errorf("%d of %d updates seen", got, w.updates)
	}
	w.add(churnSeen, float64(got))
	w.add(churnCPU, (after-before).Seconds()/float64(got))
	w.add(churnRate, float64(got-1)/w.lines.at.Sub(first).Seconds())
	return nil
}

// steady measures the latency of updates of small pods at the steady rate.
func (w *watcher) steady() error {
	if w.writtenAt == nil {
		return nil
	}
	var delays []float64
	var wrong error
	taken := w.lines.taken
	got, err := w.churn(light, w.paced, w.rate, func(line []byte) {
		written, err := w.writtenAt(line)
		wrong = errors.Join(wrong, err)
		delays = append(delays, w.lines.at.Sub(written).Seconds())
	})
	if err == nil {
		err = wrong
	}
	if err != nil {
		return err
	}
	if got < w.paced {
		return fmt.Errorf("%d of %d updates seen", got, w.paced)
	}
	w.add(latency, percentile(delays, 50))
	w.add(latencyP99, percentile(delays, 99))
	if w.page != nil { // each message is a line
		w.add(viewerBytes, float64(w.lines.taken-taken)/float64(got)-1)
	}
	return nil
}

// churn writes updates in a namespace and reads until all have arrived, or none arrives within churnTimeout. It returns
// the number of updates read.
func (w *watcher) churn(namespace string, updates int, rate float64, see func(line []byte)) (int, error) {
	done := churn(w.cluster, namespace, updates, rate)
	got, err := w.lines.follow(updates, churnTimeout, see)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		progress("%s: %d of %d updates seen", w.name, got, updates)
		err = nil
	}
	return got, errors.Join(err, <-done)
}
