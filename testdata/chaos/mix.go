package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// moments is the period before a kill whose lines may be repeated, if the disk is fast.
	moments = 3 * time.Second
	// lives is the mean time between two kills of a dwatch, of a receiver, and of the server if it has restarted by then.
	lives = 3 * time.Second
	// terms is the mean time between two kills among the replicas of a dwatch. It is longer because another replica takes
	// over only after about ten seconds.
	terms = 20 * time.Second
	// restartAfter is the maximum wait before a restart.
	restartAfter = 300 * time.Millisecond
)

// groups are the groups of faults. All are equally likely.
var groups = [][]fault{
	connectionFaults, connectionFaults, eventFaults, eventFaults,
	answerFaults, answerFaults, garbageFaults, syncFaults, serverFaults,
}

// groups returns the groups of faults for this arena.
func (o arenaOptions) groups() [][]fault {
	if o.deliver {
		return deliveryGroups
	}
	return groups
}

// mix injects faults of the groups until ctx ends, independently in each cluster. Each lasts at most for the window. It
// returns the error of the first fault that could not be injected.
func (a *arena) mix(ctx context.Context, groups [][]fault, window time.Duration) error {
	var mixing errgroup.Group
	if a.state {
		rng := a.fork()
		mixing.Go(func() error { a.killWatchers(ctx, rng); return nil })
	}
	if a.deliver {
		rng := a.fork()
		mixing.Go(func() error { a.killReceivers(ctx, rng); return nil })
	}
	for _, s := range a.sites {
		if a.deliver {
			rng := a.fork()
			mixing.Go(func() error { return s.killServer(ctx, rng) })
		}
		mixing.Go(func() error { return s.mix(ctx, groups, window) })
	}
	return mixing.Wait()
}

// mix injects random faults in sequence until ctx ends.
func (s *site) mix(ctx context.Context, groups [][]fault, window time.Duration) error {
	for ctx.Err() == nil {
		group := groups[s.rng.IntN(len(groups))]
		f := group[s.rng.IntN(len(group))]
		if _, err := s.inject(ctx, f, s.upTo(window)); err != nil {
			return unlessOver(ctx, err)
		}
		switch s.rng.IntN(3) {
		case 0: // the next one comes before dwatch has recovered from this one
			sleep(ctx, s.upTo(time.Second))
		default:
			s.recovered(f.name)
		}
	}
	return nil
}

// unlessOver returns err, or nil if the end of ctx caused it.
func unlessOver(ctx context.Context, err error) error {
	if errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

func (s *site) upTo(most time.Duration) time.Duration {
	return time.Duration(s.rng.Int64N(int64(most)))
}

// fork returns another random source, for another goroutine.
func (a *arena) fork() *rand.Rand { return rand.New(rand.NewPCG(a.rng.Uint64(), a.seed)) }

// killWatchers kills random processes of dwatch until ctx ends. supervise restarts them.
func (a *arena) killWatchers(ctx context.Context, rng *rand.Rand) {
	most := 2 * lives
	if a.replicas > 1 {
		most = 2 * terms
	}
	for sleep(ctx, time.Duration(rng.Int64N(int64(most)/int64(len(a.watchers))))) {
		all := a.watchers[rng.IntN(len(a.watchers))].all()
		all[rng.IntN(len(all))].kill()
	}
}

// killReceivers kills and restarts random receivers until ctx ends.
func (a *arena) killReceivers(ctx context.Context, rng *rand.Rand) {
	for sleep(ctx, time.Duration(rng.Int64N(int64(2*lives)/int64(len(a.watchers))))) {
		d := a.watchers[rng.IntN(len(a.watchers))]
		if err := d.receiver.kill(ctx, restartAfter); err != nil {
			d.note(lost, "its receiver does not start again: %v", err)
			return
		}
	}
}

// killServer kills and restarts the server until ctx ends. Before the next kill, it waits until each dwatch has delivered
// a new event.
func (s *site) killServer(ctx context.Context, rng *rand.Rand) error {
	next := time.Now()
	for sleep(ctx, time.Until(next)) {
		next = time.Now().Add(time.Duration(rng.Int64N(int64(2 * lives))))
		if err := s.server.crash(ctx, restartAfter); err != nil {
			return fmt.Errorf("the server does not start again: %w", err)
		}
		back := time.Now()
		for _, d := range s.watchers {
			r := d.records[s.name]
			delivers := func() bool {
				return ctx.Err() != nil || slices.ContainsFunc(slices.Collect(maps.Values(r.last)), back.Before)
			}
			if !r.await(recoverWithin, delivers) {
				r.note(lost, "nothing within %v after the server was killed", recoverWithin)
			}
		}
	}
	return nil
}

// supervise restarts each process of dwatch that was killed or that failed at its start because of a fault, until ctx
// ends.
func (a *arena) supervise(ctx context.Context) {
	for sleep(ctx, restartAfter) {
		for _, d := range a.watchers {
			for _, one := range d.all() {
				if err := one.revive(); err != nil {
					d.note(lost, "dwatch does not start again: %v", err)
					return
				}
			}
		}
	}
}
