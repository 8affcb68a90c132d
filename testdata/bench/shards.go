package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"dwatch/testdata/testenv"
)

// shardObjects is the number of small pods that are divided among the shards.
const shardObjects = 100_000

// shardCounts are the numbers of shards to measure. The first stands for no shards, with which the others are compared.
var shardCounts = []int{1, 2, 4}

// shardServers are the kinds of servers.
var shardServers = []struct {
	name  string
	flags []string
	// says is the text in the first message of each shard if there are several.
	says string
}{
	{"server selects", []string{"--apiserver-arg", "feature-gates=ShardedListAndWatch=true"}, "as the server selects it"},
	{"server sends all", nil, "the server knows no shards and sends all"},
}

func shardsName(server string, n int) string {
	if n == 1 {
		return server + ", no shards"
	}
	return fmt.Sprintf("%s, %d shards", server, n)
}

// shards measures shards, with one cluster for each kind of server.
func (b *bench) shards(ctx context.Context) error {
	for _, server := range shardServers {
		cluster, err := startCluster(ctx, append([]string{"--light-pods", strconv.Itoa(shardObjects)}, server.flags...)...)
		if err != nil {
			return err
		}
		argv := b.versions[0].stream("pods", "-A", "-o", "json", "--kubeconfig", cluster.Kubeconfig)
		err = b.warmShards(ctx, argv)
		for _, n := range shardCounts {
			if err != nil {
				break
			}
			name := shardsName(server.name, n)
			progress("%s", name)
			err = b.shardRun(ctx, cluster, argv, name, n, server.says)
		}
		if err := errors.Join(err, cluster.Stop()); err != nil {
			return err
		}
	}
	return nil
}

// warmShards makes a server read all objects.
func (b *bench) warmShards(ctx context.Context, argv []string) error {
	p, err := start(ctx, argv, b.env, false)
	if err != nil {
		return err
	}
	_, err = p.lines.follow(shardObjects, syncTimeout, nil)
	return p.end(err)
}

// shardRun measures n concurrent shards.
func (b *bench) shardRun(ctx context.Context, cluster *testenv.Cluster, argv []string, name string, n int, says string) error {
	var all shards
	synced := all.expect(shardObjects)
	changed := all.expect(shardObjects + b.updates)
	err := all.start(ctx, argv, b.env, n)
	if err == nil {
		err = b.measureShards(ctx, cluster, name, &all, synced.reached, changed.reached)
	}
	for _, p := range all.processes {
		err = p.end(err) // adds the stderr of the process to err
		if stderr := p.stderr.String(); err == nil && n > 1 && !strings.Contains(stderr, says) {
			err = fmt.Errorf("%s: stderr does not contain %q: %s", name, says, stderr)
		}
	}
	return err
}

// measureShards measures shards that have just been started.
func (b *bench) measureShards(ctx context.Context, cluster *testenv.Cluster, name string, all *shards, synced, changed <-chan time.Time) error {
	at, err := all.await(ctx, synced)
	if err != nil {
		return err
	}
	first, err := all.used()
	if err != nil {
		return err
	}
	if err := <-churn(cluster, "default", b.updates, 0); err != nil {
		return err
	}
	if _, err := all.await(ctx, changed); err != nil {
		return err
	}
	last, err := all.used()
	if err != nil {
		return err
	}
	b.found.add(name, allOut, all.processes[0].since(at))
	b.found.add(name, syncCPU, first.cpu)
	b.found.add(name, bytesRead, first.read)
	b.found.add(name, churnCPU, (last.cpu-first.cpu)/float64(b.updates))
	b.found.add(name, churnRead, (last.read-first.read)/float64(b.updates))
	b.found.add(name, onePeak, last.largest)
	b.found.add(name, churnPeak, last.memory)
	return nil
}

// shards are processes that together watch all objects. The number of objects of each shard is not known in advance.
type shards struct {
	processes []*process
	events    atomic.Int64 // total number of events
	targets   []target
	failed    chan error // receives the error that ended the reading of each process
}

// target is a total number of events. reached receives the time of the event with this number.
type target struct {
	events  int64
	reached chan time.Time
}

// expect adds a target. It must be called before start.
func (s *shards) expect(events int) target {
	t := target{int64(events), make(chan time.Time, 1)}
	s.targets = append(s.targets, t)
	return t
}

// start starts n shards and reads their output in the background. The caller must end the processes even if start
// returns an error.
func (s *shards) start(ctx context.Context, argv, env []string, n int) error {
	s.failed = make(chan error, n)
	for i := range n {
		args := argv
		if n > 1 {
			args = append(argv[:len(argv):len(argv)], "--shard", fmt.Sprintf("%d/%d", i+1, n))
		}
		p, err := start(ctx, args, env, false)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
		go func() { s.failed <- s.count(p.lines) }()
	}
	return nil
}

// count counts the events of one shard.
func (s *shards) count(lines *lineReader) error {
	for {
		line, err := lines.next(syncTimeout)
		if err != nil {
			return err
		}
		if !lines.isEvent(line) {
			continue
		}
		events := s.events.Add(1)
		for _, t := range s.targets {
			if events == t.events {
				t.reached <- lines.at
			}
		}
	}
}

// await waits until a target was reached and returns the time.
func (s *shards) await(ctx context.Context, reached <-chan time.Time) (time.Time, error) {
	select {
	case at := <-reached:
		return at, nil
	case err := <-s.failed:
		return time.Time{}, fmt.Errorf("read %d events: %w", s.events.Load(), err)
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

// shardsUsed is the resource usage of all shards so far.
type shardsUsed struct {
	cpu             float64 // s
	read            float64 // bytes
	memory, largest float64 // peak in bytes: the sum of all shards, and the largest one
}

func (s *shards) used() (sum shardsUsed, err error) {
	for _, p := range s.processes {
		cpu, err := cpuTime(p.pid())
		if err != nil {
			return sum, err
		}
		read, err := bytesReadBy(p.pid())
		if err != nil {
			return sum, err
		}
		m, err := memoryOf(p.pid())
		if err != nil {
			return sum, err
		}
		sum.cpu, sum.read = sum.cpu+cpu.Seconds(), sum.read+float64(read)
		sum.memory, sum.largest = sum.memory+float64(m.peak), max(sum.largest, float64(m.peak))
	}
	return sum, nil
}

// shards returns the tables of shards. Each ratio is the median of the ratios of all rounds.
func (r results) shards(o options) string {
	if r[shardsName(shardServers[0].name, 1)] == nil {
		return ""
	}
	return "**Shards, until all pods are printed**\n\n" + r.shardTable(column{name: "time", metric: allOut, format: seconds},
		column{name: "CPU", metric: syncCPU, format: seconds}, column{name: "read", metric: bytesRead, format: megabytes}) +
		"\n**Shards, updates**\n\n" + r.shardTable(column{name: "memory of one, peak", metric: onePeak, format: megabytes},
		column{name: "of all", metric: churnPeak, format: megabytes}, column{name: "CPU, a change", metric: churnCPU, format: seconds},
		column{name: "read, a change", metric: churnRead, format: megabytes}) + "\n" + fmt.Sprintf(strings.ReplaceAll(
		`~dwatch pods -A -o json --shard I/N~, all shards at the same time, with %s pods of 0.8 KB as JSON and %s updates as fast as the
server writes them. The server that selects has the feature gate ShardedListAndWatch. CPU and bytes read (from the network, where the
server compresses with gzip, and from a few files at the start) are sums of all shards. "memory of one" is the largest shard,
including the program itself. "/ 1" is the ratio to no shards.
`, "~", "`"), thousands(shardObjects), thousands(o.updates))
}

// shardTable returns a table with a row for each number of shards of each server.
func (r results) shardTable(columns ...column) string {
	head := []string{""}
	for _, c := range columns {
		head = append(head, c.name, "/ 1")
	}
	lines := [][]string{head}
	for _, server := range shardServers {
		for _, n := range shardCounts {
			name, ratio := shardsName(server.name, n), func(metric) string { return "" }
			if n > 1 {
				ratio = func(m metric) string { return significant(r.paired(name, shardsName(server.name, 1), m), 2) }
			}
			line := []string{name}
			for _, c := range columns {
				line = append(line, r.cell(c, name), ratio(c.metric))
			}
			lines = append(lines, line)
		}
	}
	return markdown(lines)
}
