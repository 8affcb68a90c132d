package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// shardRun is the process of one shard, and its output.
type shardRun struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	out bytes.Buffer
	err bytes.Buffer
}

func (s *shardRun) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// lines returns the events printed so far, without an incomplete last line.
func (s *shardRun) lines(t *testing.T) (all []line) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.out.String()
	for one := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var l line
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Fatalf("%v in %s", err, one)
		}
		all = append(all, l)
	}
	return all
}

// TestReshard changes the number of shards from 2 to 3 to 2 while objects are created, changed and deleted. Each process
// continues with its state file. Within a phase, all states of an object come from one shard. Together the processes
// print the final state of each object, and each deletion.
func TestReshard(t *testing.T) {
	t.Parallel()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	defer o.leave()
	client := configMapsOf(o)
	createMany(t, client, 100)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, o.namespace); err != nil {
		t.Fatal(err)
	}
	var printed []line
	for phase, shards := range [][]string{{"1/2", "2/2"}, {"1/3", "2/3", "3/3"}, {"1/2", "2/2", "none/2"}} {
		changes := startChanges(t, client)
		var runs []*shardRun
		for n, shard := range shards {
			run := &shardRun{}
			run.cmd = exec.Command(filepath.Join(binaries, "dwatch"), "configmaps", "--shard", shard, "--state", filepath.Join(dir, strconv.Itoa(n)))
			run.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
			run.cmd.Stdout, run.cmd.Stderr = run, &run.err
			if err := run.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(patience, func() { run.cmd.Process.Kill() })
			defer late.Stop()
			runs = append(runs, run)
		}
		before := len(printed)
		for deadline := time.Now().Add(patience); !areBusy(t, runs[:2]); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("phase %d: too few events were printed: %s%s", phase, &runs[0].err, &runs[1].err)
			}
		}
		if phase < 2 {
			endRuns(t, runs)
		}
		changes() // changes continue while no process runs
		exist := present(t, client)
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			printed = printed[:before]
			of := map[string]int{}
			for n, run := range runs {
				for _, l := range run.lines(t) {
					printed = append(printed, l)
					// A shard may still print the deletion of an object that now belongs to another one.
					if was, known := of[string(l.Object.UID)]; known && was != n && l.Type != event.Deleted {
						t.Errorf("phase %d: %s was printed by shards %s and %s", phase, l, shards[was], shards[n])
					}
					if l.Type != event.Deleted {
						of[string(l.Object.UID)] = n
					}
				}
			}
			missing := missingOf(printed, exist)
			if phase < 2 || missing == "" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("at the end: %s\n%s%s%s", missing, &runs[0].err, &runs[1].err, &runs[2].err)
			}
		}
		if phase == 2 {
			endRuns(t, runs)
			deletions := map[string]int{}
			for _, l := range printed {
				if l.Type == event.Deleted {
					deletions[string(l.Object.UID)]++
				}
			}
			repeated := 0
			for _, n := range deletions {
				repeated += n - 1
			}
			t.Logf("%d lines, %d deletions, %d of them repeated", len(printed), len(deletions), repeated)
		}
	}
}

// areBusy reports whether each process has printed enough changes.
func areBusy(t *testing.T, runs []*shardRun) bool {
	for _, run := range runs {
		n := 0
		for _, l := range run.lines(t) {
			if l.Type != event.Added {
				n++
			}
		}
		if n < 80 {
			return false
		}
	}
	return true
}

func endRuns(t *testing.T, runs []*shardRun) {
	t.Helper()
	for _, run := range runs {
		run.cmd.Process.Signal(os.Interrupt)
	}
	for _, run := range runs {
		if err := run.cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, &run.err)
		}
	}
}

// missingOf describes a final state or a deletion that was not printed. It returns "" if nothing is missing.
func missingOf(printed []line, exist map[string]string) string {
	newest, deleted := map[string]uint64{}, map[string]bool{}
	for _, l := range printed {
		uid := string(l.Object.UID)
		if l.Type == event.Deleted {
			deleted[uid] = true
			continue
		}
		version, _ := strconv.ParseUint(l.Object.ResourceVersion, 10, 64)
		newest[uid] = max(newest[uid], version)
	}
	isThere := map[string]bool{}
	for name, state := range exist {
		uid, version, _ := strings.Cut(state, "/")
		isThere[uid] = true
		if want, _ := strconv.ParseUint(version, 10, 64); newest[uid] != want || deleted[uid] {
			return fmt.Sprintf("%s (%s): the last printed version is %d, deleted %t", name, state, newest[uid], deleted[uid])
		}
	}
	for uid := range newest {
		if !isThere[uid] && !deleted[uid] {
			return "the deletion of " + uid + " was not printed"
		}
	}
	return ""
}
