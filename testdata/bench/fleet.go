package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"

	"dwatch/testdata/testenv"
)

// Names of the measurements of several clusters: all clusters in one run, each cluster in its own run, and the
// latter without the memory and CPU time of the additional binaries.
const (
	fleetName   = "5 clusters in one dwatch"
	singlesName = "5 dwatch, a cluster each"
	boundName   = "the same, without 4 binaries"
)

const (
	// fleetSize is the number of clusters.
	fleetSize = 5
	// fleetObjects and fleetUpdates are the number of objects and updates in each cluster.
	fleetObjects, fleetUpdates = 2000, 20000
)

// usage is the resource usage of a run.
type usage struct {
	cpu    float64 // s
	memory float64 // peak in bytes
	binary float64 // part of the peak that is the program itself, in bytes
}

// fleet measures several clusters. Their servers run in this process and only send events.
func (b *bench) fleet(ctx context.Context) error {
	sender := &testenv.FakeServers{Objects: fleetObjects, Updates: fleetUpdates}
	server := httptest.NewServer(sender)
	defer server.Close()
	defer server.CloseClientConnections()
	var names []string
	for i := range fleetSize {
		names = append(names, "c"+strconv.Itoa(i+1))
	}
	path := filepath.Join(b.dir, "fleet")
	if err := sender.WriteKubeconfig(path, server.URL, names...); err != nil {
		return err
	}
	var singles, binaries usage
	for i, name := range names {
		one, err := b.watchFleet(ctx, path, name)
		if err != nil {
			return err
		}
		singles.cpu, singles.memory = singles.cpu+one.cpu, singles.memory+one.memory
		if i == 0 {
			continue
		}
		started, err := b.startBinary(ctx)
		if err != nil {
			return err
		}
		binaries.cpu, binaries.memory = binaries.cpu+started, binaries.memory+one.binary
	}
	all, err := b.watchFleet(ctx, path, names...)
	if err != nil {
		return err
	}
	bound := usage{cpu: singles.cpu - binaries.cpu, memory: singles.memory - binaries.memory}
	for name, u := range map[string]usage{fleetName: all, singlesName: singles, boundName: bound} {
		b.found.add(name, churnCPU, u.cpu)
		b.found.add(name, churnPeak, u.memory)
	}
	return nil
}

// watchFleet measures a dwatch that watches some of the clusters, until it has printed all events.
func (b *bench) watchFleet(ctx context.Context, kubeconfig string, names ...string) (u usage, err error) {
	argv := b.versions[0].stream("cm", "-o", "json", "-q", "--kubeconfig", kubeconfig, "--context", strings.Join(names, ","))
	p, err := start(ctx, argv, b.env, false)
	if err != nil {
		return u, err
	}
	want := len(names) * (fleetObjects + fleetUpdates)
	got, err := p.lines.follow(want, churnTimeout, nil)
	if err != nil {
		return u, p.end(fmt.Errorf("%d of %d events seen: %w", got, want, err))
	}
	cpu, err := cpuTime(p.pid())
	if err != nil {
		return u, p.end(err)
	}
	m, err := memoryOf(p.pid())
	return usage{cpu.Seconds(), float64(m.peak), float64(m.binary)}, p.end(err)
}

// startBinary returns the CPU time of dwatch --version in s.
func (b *bench) startBinary(ctx context.Context) (float64, error) {
	argv := b.versions[0].stream("--version")
	cmd := b.child(ctx, argv[0], argv[1:]...)
	err := cmd.Run()
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), err
}

// fleets returns the table of several clusters. Each ratio is the median of the ratios of all rounds.
func (r results) fleets() string {
	if r[fleetName] == nil {
		return ""
	}
	lines := [][]string{{"", "CPU", "share", "memory, peak", "share"}}
	for _, name := range []string{fleetName, singlesName, boundName} {
		line := []string{name}
		for _, c := range []column{{metric: churnCPU, format: seconds}, {metric: churnPeak, format: megabytes}} {
			ratio := ""
			if name != fleetName {
				ratio = significant(r.paired(fleetName, name, c.metric), 2)
			}
			line = append(line, r.cell(c, name), ratio)
		}
		lines = append(lines, line)
	}
	return "**Five clusters**\n\n" + markdown(lines) + "\n" + fmt.Sprintf(strings.ReplaceAll(
		`~dwatch cm --context c1,c2,c3,c4,c5~ watches servers that only send events, %s ConfigMaps of 1.2 KB and %s updates each,
until all events are printed. Then one dwatch per context does the same, one after the other. "the same, without 4 binaries" leaves out the
memory of a run that is the program itself, and the CPU time of ~dwatch --version~, four times. "share" is the share of this
value that one dwatch for all clusters needs.
`, "~", "`"), thousands(fleetObjects), thousands(fleetUpdates))
}
