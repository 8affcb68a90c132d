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

// What is measured of several clusters: all of them in one run, each in a run of its own, and that
// as if it were one program.
const (
	fleetName   = "5 clusters in one dwatch"
	singlesName = "5 dwatch, a cluster each"
	boundName   = "these, less 4 binaries"
)

const (
	// fleetSize is how many clusters are watched.
	fleetSize = 5
	// fleetObjects are in each, and fleetUpdates follow.
	fleetObjects, fleetUpdates = 2000, 20000
)

// used is what a run has used.
type used struct {
	cpu    float64 // s
	memory float64 // bytes, at most
	binary float64 // bytes of it that are the program itself
}

// fleet measures several clusters, of servers that only send, in this process.
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
	var singles, binaries used
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
	bound := used{cpu: singles.cpu - binaries.cpu, memory: singles.memory - binaries.memory}
	for name, u := range map[string]used{fleetName: all, singlesName: singles, boundName: bound} {
		b.found.add(name, churnCPU, u.cpu)
		b.found.add(name, churnPeak, u.memory)
	}
	return nil
}

// watchFleet watches some of the clusters until all that is sent is out.
func (b *bench) watchFleet(ctx context.Context, kubeconfig string, names ...string) (u used, err error) {
	argv := b.versions[0].stream("cm", "-o", "json", "-q", "--kubeconfig", kubeconfig, "--context", strings.Join(names, ","))
	p, err := start(ctx, argv, b.env, false)
	if err != nil {
		return u, err
	}
	want := len(names) * (fleetObjects + fleetUpdates)
	got, err := p.lines.follow(want, churnPatience, nil)
	if err != nil {
		return u, p.end(fmt.Errorf("%d of %d events seen: %w", got, want, err))
	}
	cpu, err := cpuTime(p.pid())
	if err != nil {
		return u, p.end(err)
	}
	m, err := memoryOf(p.pid())
	return used{cpu.Seconds(), float64(m.peak), float64(m.binary)}, p.end(err)
}

// startBinary returns the CPU time of a dwatch that does nothing, in s.
func (b *bench) startBinary(ctx context.Context) (float64, error) {
	argv := b.versions[0].stream("--version")
	cmd := b.child(ctx, argv[0], argv[1:]...)
	err := cmd.Run()
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), err
}

// fleets is the table of what was measured. The ratio is the median of those of the rounds.
func (r results) fleets() string {
	if r[fleetName] == nil {
		return ""
	}
	lines := [][]string{{"", "CPU", "of it", "memory, peak", "of it"}}
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
		`~dwatch cm --context c1,c2,c3,c4,c5~ of servers that only send, %s ConfigMaps of 1.2 KB and %s updates each, until
all are out; and the same for one context, five times, one after the other. A binary is the memory of
a run that holds pages of the program itself, and the CPU of ~dwatch --version~. "of it" is what one dwatch takes of that.
`, "~", "`"), thousands(fleetObjects), thousands(fleetUpdates))
}
