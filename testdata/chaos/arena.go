package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// arenaOptions configure an arena.
type arenaOptions struct {
	// label identifies the arena. It is the label "chaos" of its objects, and the prefix of its namespaces.
	label string
	// servers are the API servers of the clusters that each dwatch watches.
	servers []*server
	binary  string
	seed    uint64
	// pace is the mean wait of each writer between two changes.
	pace time.Duration
	// state runs dwatch with --state, and restarts it when it was killed.
	state bool
	// deliver makes dwatch deliver to receivers. It implies state.
	deliver bool
	// replicas is the number of processes with one Lease for each dwatch. More than one implies deliver.
	replicas int
	// shards is the number of processes that share the objects of each dwatch. More than one implies state; each has
	// its own state file.
	shards int
}

// arena runs writers, faults and dwatch in its own namespaces, with its own proxy for each cluster.
type arena struct {
	arenaOptions
	dir        string
	namespaces []string
	sites      []*site
	rng        *rand.Rand
	watchers   []*dwatch

	writing    sync.WaitGroup
	pause      context.CancelFunc // stops the writers
	reviving   sync.WaitGroup
	endRevival context.CancelFunc // stops restarting dwatch and measuring the disk
	disk       disk
}

func newArena(ctx context.Context, o arenaOptions) (*arena, error) {
	o.deliver = o.deliver || o.replicas > 1
	o.state = o.state || o.deliver || o.shards > 1
	a := &arena{
		arenaOptions: o,
		namespaces:   []string{o.label + "-a", o.label + "-b"},
		rng:          rand.New(rand.NewPCG(o.seed, 0)),
		pause:        func() {},
		endRevival:   func() {},
	}
	var err error
	if a.dir, err = os.MkdirTemp("", "dwatch-chaos-"); err != nil {
		return nil, err
	}
	if err := errors.Join(a.setUp(ctx), a.startWriters(ctx)); err != nil {
		return nil, errors.Join(err, a.tearDown())
	}
	if a.state {
		reviving, endRevival := context.WithCancel(ctx)
		a.endRevival = endRevival
		a.reviving.Go(func() { a.supervise(reviving) })
		a.reviving.Go(func() {
			if err := a.disk.measure(reviving, appending(a.dir)); err != nil {
				a.watchers[0].note(lost, "the disk can't be measured: %v", err)
			}
		})
	}
	return a, nil
}

func (a *arena) setUp(ctx context.Context) error {
	for i, server := range a.servers {
		s, err := a.newSite(ctx, siteName(i, len(a.servers)), server)
		if err != nil {
			return err
		}
		a.sites = append(a.sites, s)
	}
	var all []string
	for _, r := range resources {
		all = append(all, r.GroupResource().String())
	}
	what := []string{"-r", strings.Join(all, ",")}
	if len(a.sites) > 1 {
		what = append(what, "--all-contexts")
	}
	return errors.Join(
		// One speaks HTTP/2, which notices a dead connection by itself, soon.
		a.watch("plain", append(what, "-n", strings.Join(a.namespaces, ",")),
			"HTTP2_READ_IDLE_TIMEOUT_SECONDS=3", "HTTP2_PING_TIMEOUT_SECONDS=2"),
		a.watch("selecting", append(what, "-A", "-l", a.selector()), "DISABLE_HTTP2=1"),
	)
}

func (a *arena) selector() string { return "in=yes,chaos=" + a.label }

func (a *arena) watch(name string, args []string, env ...string) error {
	d := &dwatch{
		name: name, binary: a.binary, dir: a.dir, sites: a.sites, env: append(env, "GORACE=halt_on_error=1 atexit_sleep_ms=0"),
		said: filepath.Join(a.dir, name+".stderr"), records: map[string]*record{}, revivable: a.state, disk: &a.disk,
	}
	for _, s := range a.sites {
		r := newRecord(name == "selecting")
		r.shared = a.shards > 1
		r.apart = r.shared
		d.records[s.name] = r
	}
	if a.deliver {
		args = append(args, "--show-secrets", "--workers", "4", "--max-backoff", "2s", "--deadline", "5s")
		var err error
		if d.receiver, err = newReceiver(a.seed, d.receive); err != nil {
			return err
		}
	}
	a.watchers = append(a.watchers, d)
	a.multiply(d)
	for n, one := range d.all() {
		one.args = append(slices.Clip(args), a.apartFrom(d, one, n+1)...)
		if err := one.start(); err != nil {
			return err
		}
	}
	return nil
}

// multiply adds the other replicas or shards of a dwatch. They share its records and its receiver.
func (a *arena) multiply(d *dwatch) {
	for n := 2; n <= max(a.replicas, a.shards); n++ {
		name := fmt.Sprintf("%s-%d", d.name, n)
		d.others = append(d.others, &dwatch{
			name: name, binary: d.binary, dir: d.dir, sites: d.sites, env: d.env, said: filepath.Join(a.dir, name+".stderr"),
			records: d.records, receiver: d.receiver, revivable: true, disk: d.disk,
		})
	}
}

// apartFrom returns the arguments that differ between the processes of a dwatch, for the n-th of them. Replicas share a
// Lease and a state file; each shard has its own state file.
func (a *arena) apartFrom(d, one *dwatch, n int) []string {
	switch {
	case a.shards > 1:
		return []string{"--shard", fmt.Sprintf("%d/%d", n, a.shards), "--state", filepath.Join(a.dir, one.name+".state")}
	case a.replicas > 1:
		return []string{"--lease", a.namespaces[0] + "/" + d.name, "--state", filepath.Join(a.dir, d.name+".state")}
	case a.state:
		return []string{"--state", filepath.Join(a.dir, d.name+".state")}
	}
	return nil
}

// startWriters starts the writers once each dwatch has printed the sentinels of all resources and namespaces.
func (a *arena) startWriters(ctx context.Context) error {
	writing, pause := context.WithCancel(ctx)
	a.pause = pause
	for _, s := range a.sites {
		if err := s.awaitSentinels(ctx); err != nil {
			return err
		}
	}
	for _, s := range a.sites {
		for _, w := range s.writers {
			a.writing.Go(func() { w.run(writing) })
		}
	}
	return nil
}

func (a *arena) tearDown() error {
	a.pause()
	a.writing.Wait()
	a.endRevival()
	a.reviving.Wait()
	var errs []error
	for _, d := range a.watchers {
		for _, one := range d.all() {
			errs = append(errs, one.stop())
		}
		if d.receiver != nil {
			d.receiver.stop()
		}
	}
	for _, s := range a.sites {
		s.proxy.stop()
	}
	return errors.Join(append(errs, os.RemoveAll(a.dir))...)
}

// siteName returns the context name of the i-th of several clusters. It is empty if there is only one.
func siteName(i, of int) string {
	if of == 1 {
		return ""
	}
	return fmt.Sprintf("cluster-%d", i+1)
}
