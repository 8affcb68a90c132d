package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// figures are the results of a run in one cluster.
type figures struct {
	cluster string // empty if there is only one
	seed    uint64
	faults  map[string]int
	silence map[string]time.Duration // longest time to recover, by fault
	written int
	printed int
	// repeated are lines that a run of dwatch printed again after a kill.
	repeated int
	kills    int
	// receiverKills is how often a receiver was killed.
	receiverKills int64
	// serverKills is how often the server was killed.
	serverKills int64
	// seen is the number of states that dwatch has certainly received, and therefore has to deliver.
	seen int
	// between is the number of seen states that were not delivered, which is allowed with replicas. changes counts the
	// changes of the leader, and soonest is the shortest time from the last delivery of a leader to the first of the next.
	between, changes int
	soonest          time.Duration
	// shares is the number of objects that each shard has reported.
	shares map[string]int

	wrong    []string
	count    map[fail]int
	requests int
	peak     int
	busiest  string // resource of the peak
}

func newFigures(cluster string, seed uint64) figures {
	return figures{cluster: cluster, seed: seed, faults: map[string]int{}, silence: map[string]time.Duration{}, shares: map[string]int{}, count: map[fail]int{}}
}

func (f *figures) injected(name string) { f.faults[name]++ }

func (f *figures) silent(name string, d time.Duration) { f.silence[name] = max(f.silence[name], d) }

// add adds the figures of the record of a dwatch in the cluster. The record must be locked.
func (f *figures) add(d *dwatch, r *record) {
	f.printed += r.lines
	f.repeated += r.repeated
	for _, one := range d.all() {
		f.kills += one.runs - 1
	}
	for _, h := range r.objects {
		if r.shared {
			f.shares[h.by]++
		}
	}
	f.changes += r.changes
	if r.changes > 0 && (f.soonest == 0 || r.soonest < f.soonest) {
		f.soonest = r.soonest
	}
	if d.receiver != nil {
		f.receiverKills += d.receiver.kills.Load()
	}
	for _, p := range r.wrong {
		f.count[p.fail]++
		f.wrong = append(f.wrong, fmt.Sprintf("%s: %s: %s", strings.TrimSpace(d.name+" "+f.cluster), p.fail, p.text))
	}
}

func (f *figures) String() string {
	var text strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&text, "%-32s %v\n", name, value) }
	if f.cluster != "" {
		row("cluster", f.cluster)
	}
	total, longest := 0, time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(f.faults)) {
		times := fmt.Sprintf("%d times", f.faults[name])
		if silence, measured := f.silence[name]; measured {
			times += fmt.Sprintf(", silent for %.1f s at most", silence.Seconds())
		}
		row("  "+name, times)
		total += f.faults[name]
		longest = max(longest, f.silence[name])
	}
	row("faults injected", total)
	row("kills of dwatch", f.kills)
	row("kills of receivers", f.receiverKills)
	row("kills of the server", f.serverKills)
	row("events written", f.written)
	row("lines printed, or delivered", f.printed)
	row("states that were seen", f.seen)
	if f.changes > 0 {
		row("leader changes", fmt.Sprintf("%d, after %.1f s at least", f.changes, f.soonest.Seconds()))
		row("intermediate states not delivered", f.between)
	}
	for _, name := range slices.Sorted(maps.Keys(f.shares)) {
		row("objects of "+name, f.shares[name])
	}
	if len(f.shares) > 0 {
		row("told by two shards", f.count[overlapped])
	}
	row("lost", f.count[lost])
	row("duplicated", f.count[duplicated])
	row("out of order", f.count[disordered])
	row("repeated after a kill", f.repeated)
	row("longest silence after recovery", fmt.Sprintf("%.1f s", longest.Seconds()))
	row("requests", fmt.Sprintf("%d, for one resource at most %d in a second", f.requests, f.peak))
	row("seed", f.seed)
	return text.String()
}
