package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"dwatch/testdata/testenv"
)

// bench is one run of the benchmark on one cluster.
type bench struct {
	options
	*contenderSet
	cluster *testenv.Cluster
	dir     string // for temporary files
	found   results
}

// measure starts a cluster, measures everything on it and stops it.
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
			err = context.Cause(ctx) // rather than the errors that it caused
		}
	}()
	set, err := newContenderSet(cluster, opts, dir)
	if err != nil {
		return nil, err
	}
	if err := fill(cluster, opts.pods, dir); err != nil {
		return nil, err
	}
	b := &bench{options: opts, contenderSet: set, cluster: cluster, dir: dir, found: results{}}
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
	if err := b.recording(ctx); ctx.Err() == nil && err != nil { // on a busy machine, the server may close a watch of kubectl that is too slow, and kubectl ends
		progress("no recordings: %v", err)
		for _, name := range []string{recordName, compressedName, plainName, printName} {
			delete(b.found, name)
		}
	}
	return b.found, b.day(ctx)
}

// warmUp starts each contender once without measuring. This fills the discovery caches, loads the binaries
// into memory, and makes the server read all pods.
func (b *bench) warmUp(ctx context.Context) error {
	progress("warming up")
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
	_, err = p.lines.follow(b.pods, syncTimeout, nil)
	return p.end(err)
}

// round measures all contenders once, in turn. Slow changes, such as of the server's memory, then affect all of them.
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
		progress("round %d of %d: %s", number, b.rounds, part.name)
		if err := part.measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// watching measures the contenders that watch or list pods.
func (b *bench) watching(ctx context.Context) error {
	for _, c := range b.contenders {
		progress("%s", c.name)
		job := b.watch
		if c.watch == nil {
			job = b.list
		}
		if err := job(ctx, c); err != nil {
			return err
		}
	}
	progress("starts")
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

// progress prints a line about the progress to stderr.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
