package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// syncPatience is how long a contender may print nothing before all pods are
	// out: kubectl begins when it has them all.
	syncPatience = 5 * time.Minute
	// churnPatience is how long updates may keep us waiting, the first of which
	// needs a list of all pods on the writer's side.
	churnPatience = time.Minute
	// rest is the pause between the last pod and the look at the memory that is
	// in use then. It is a fixed moment and no condition, since nothing tells
	// when a process has given back what it will: a last collection takes well
	// below a second, and the trickle after it goes on for minutes.
	rest = 2 * time.Second
)

// watcher is a contender at work, and what was found out about it.
type watcher struct {
	*bench
	*process
	name string
	language
}

// watch measures a contender that watches all pods.
func (b *bench) watch(ctx context.Context, c contender) error {
	p, err := start(ctx, c.watch, b.env, c.page)
	if err != nil {
		return err
	}
	p.lines.isEvent = c.language.isEvent
	w := &watcher{b, p, c.name, c.language}
	viewing, leave := context.WithCancel(ctx)
	defer w.viewers.Wait()
	defer leave()
	viewers := func() error { return w.view(viewing) }
	for _, part := range []func() error{w.sync, viewers, w.rest, w.fullSpeed, w.steady, w.finally} {
		if err := part(); err != nil {
			return p.end(err)
		}
	}
	return p.end(nil)
}

// add keeps a value that was measured.
func (w *watcher) add(m metric, value float64) { w.found.add(w.name, m, value) }

// sync measures the way to the first and to the last pod.
func (w *watcher) sync() error {
	if _, err := w.lines.follow(1, syncPatience, nil); err != nil {
		return err
	}
	w.add(firstOut, w.since(w.lines.at))
	initial := w.language.initial(w.pods)
	if got, err := w.lines.follow(initial-1, syncPatience, nil); err != nil {
		return fmt.Errorf("%d of %d lines for the pods out: %w", 1+got, initial, err)
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

// rest measures the memory when the initial pods are history.
func (w *watcher) rest() error {
	for until := time.Now().Add(rest); ; {
		line, err := w.lines.next(time.Until(until))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
		if w.isEvent(line) {
			return fmt.Errorf("an event that nothing has caused: %.200s", line)
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

// finally measures the memory after all the updates.
func (w *watcher) finally() error {
	m, err := memoryOf(w.pid())
	if err != nil {
		return err
	}
	w.add(churnPeak, float64(m.peak))
	return nil
}

// fullSpeed measures a burst of updates of large pods.
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

// steady measures how late updates of small pods are when there is no hurry.
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

// churn writes updates to a namespace and reads until all are seen, or none comes any more. It
// returns how many were.
func (w *watcher) churn(namespace string, updates int, rate float64, see func(line []byte)) (int, error) {
	done := churn(w.cluster, namespace, updates, rate)
	got, err := w.lines.follow(updates, churnPatience, see)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		say("%s: %d of %d updates seen", w.name, got, updates)
		err = nil
	}
	return got, errors.Join(err, <-done)
}
