package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"dwatch/testdata/testenv"
)

// bench is one run on one cluster.
type bench struct {
	options
	*field
	cluster *testenv.Cluster
	dir     string // for files
	found   results
}

// measure starts a cluster, measures everything on it and ends it.
func measure(ctx context.Context, opts options) (found results, err error) {
	dir, err := os.MkdirTemp("", "dwatch-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cluster, err := startCluster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopErr := cluster.Stop(); err == nil {
			err = stopErr
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx) // rather than what came of it
		}
	}()
	field, err := newField(cluster, opts, dir)
	if err != nil {
		return nil, err
	}
	if err := fill(cluster, opts.pods, dir); err != nil {
		return nil, err
	}
	b := &bench{options: opts, field: field, cluster: cluster, dir: dir, found: results{}}
	if err := b.warmUp(ctx); err != nil {
		return nil, err
	}
	for round := range opts.rounds {
		if err := b.round(ctx, round+1); err != nil {
			return nil, err
		}
	}
	if !opts.measures(opts.record) {
		return b.found, nil
	}
	if err := b.recording(ctx); ctx.Err() == nil && err != nil { // on a busy machine the server cuts off a kubectl that is late, which ends
		say("no recordings: %v", err)
		for _, name := range []string{recordName, compressedName, plainName, printName} {
			delete(b.found, name)
		}
	}
	return b.found, b.day(ctx)
}

// warmUp starts everything once, unmeasured: it fills the contenders' caches of
// discovery, brings the binaries into memory, and makes the server read all pods.
func (b *bench) warmUp(ctx context.Context) error {
	say("warming up")
	for _, c := range b.contenders {
		if _, err := b.startOnce(ctx, c); err != nil {
			return err
		}
	}
	curl := slices.IndexFunc(b.contenders, func(c contender) bool { return c.name == curlName })
	p, err := start(ctx, b.contenders[curl].watch, b.env, false)
	if err != nil {
		return err
	}
	_, err = p.lines.follow(b.pods, syncPatience, nil)
	return p.end(err)
}

// round measures all contenders once, in turn: whatever drifts with time, such
// as the server's memory, then meets them all.
func (b *bench) round(ctx context.Context, number int) error {
	for _, part := range []struct {
		name     string
		measured bool
		measure  func(context.Context) error
	}{
		{"watching", b.measures(false), b.watching},
		{"several clusters", b.measures(b.options.fleet), b.fleet},
		{"rules", b.measures(b.options.rules), b.rules},
		{"shards", b.options.shards, b.shards},
		{"delivery", b.measures(b.options.deliver), b.deliver},
	} {
		if !part.measured {
			continue
		}
		say("round %d of %d: %s", number, b.rounds, part.name)
		if err := part.measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// watching measures what watches.
func (b *bench) watching(ctx context.Context) error {
	for _, c := range b.contenders {
		say("%s", c.name)
		job := b.watch
		if c.watch == nil {
			job = b.list
		}
		if err := job(ctx, c); err != nil {
			return err
		}
	}
	say("starts")
	for range b.starts {
		for _, c := range b.contenders {
			seconds, err := b.startOnce(ctx, c)
			if err != nil {
				return err
			}
			b.found.add(c.name, startUp, seconds)
		}
	}
	return nil
}

// say tells on stderr how far the benchmark is.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
