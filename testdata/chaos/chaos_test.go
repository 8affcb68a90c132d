package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/testenv"
)

var (
	binary string  // dwatch
	shared *server // never killed
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	os.Unsetenv("GOGC")            // set by make test; dwatch should use its own
	flag.Set("test.parallel", "8") // the tests mostly wait
	dir, err := os.MkdirTemp("", "dwatch-chaos-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "dwatch")
	if err := testenv.Build(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if shared, err = startServer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.stop()
	return m.Run()
}

// leisurely is the pace of writers in tests that repeat each fault until it hits something, so that few writes suffice.
const leisurely = 250 * time.Millisecond

// TestFaults injects each fault of the proxy.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"connections": connectionFaults,
		"events":      eventFaults,
		"answers":     answerFaults,
		"garbage":     garbageFaults,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := arenaFor(t, arenaOptions{servers: []*server{shared}, seed: 1, pace: leisurely})
			a.sites[0].injectAll(t, time.Second, faults...)
			checkEnd(t, a)
		})
	}
	for _, f := range syncFaults {
		// Each fault has its own arena, because the informer's backoff between lists grows.
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			a := arenaFor(t, arenaOptions{servers: []*server{shared}, seed: 1, pace: leisurely})
			a.sites[0].injectAll(t, 2*time.Second, f)
			checkEnd(t, a)
		})
	}
}

// TestServer injects faults at servers of special kinds.
func TestServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags  []string
		faults []fault
	}{
		// The watch cache of a restarted server lacks the versions at which watches resume.
		"killed":       {nil, []fault{faultOf("server-killed"), faultOf("server-killed")}},
		"CRD replaced": {nil, []fault{faultOf("crd-replaced"), faultOf("crd-replaced")}},
		// Without its watch cache the server reads from etcd, which is compacted every second.
		"compacting": {
			[]string{"--apiserver-arg", "watch-cache=false", "--apiserver-arg", "etcd-compaction-interval=1s"},
			[]fault{faultOf("refuse"), faultOf("small-pages"), faultOf("refuse")},
		},
		"without WatchList": {
			[]string{"--apiserver-arg", "feature-gates=WatchList=false"},
			[]fault{faultOf("gone-page"), faultOf("cut"), faultOf("gone-event"), faultOf("server-killed")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := arenaFor(t, arenaOptions{servers: []*server{serverFor(t, test.flags...)}, seed: 1, pace: leisurely})
			a.sites[0].injectAll(t, 3*time.Second, test.faults...)
			checkEnd(t, a)
		})
	}
}

// TestFrozen makes all connections half-open. HTTP/2 must notice, and the watch must resume over another connection before
// the others are reset.
func TestFrozen(t *testing.T) {
	t.Parallel()
	a := arenaFor(t, arenaOptions{servers: []*server{shared}, seed: 1, pace: leisurely})
	s := a.sites[0]
	thaw := s.proxy.freeze()
	s.awaitLines(a.watchers[0].records[s.name], time.Now())
	thaw()
	s.recovered("frozen")
	checkEnd(t, a)
}

// TestMix is a short version of make chaos.
func TestMix(t *testing.T) {
	t.Parallel()
	testMix(t, arenaOptions{seed: 1})
}

// TestState is the same with --state, while dwatch is killed.
func TestState(t *testing.T) {
	t.Parallel()
	testMix(t, arenaOptions{seed: 2, state: true})
}

// TestDeliver is the same with receivers that fail.
func TestDeliver(t *testing.T) {
	t.Parallel()
	testMix(t, arenaOptions{seed: 3, deliver: true})
}

// TestReplicas is the same with two replicas of each dwatch, any of which is killed.
func TestReplicas(t *testing.T) {
	t.Parallel()
	testMix(t, arenaOptions{seed: 4, replicas: 2})
}

// TestShards runs three shards of each dwatch, any of which is killed. Together they must report all objects, and each
// object must be reported by only one.
func TestShards(t *testing.T) {
	t.Parallel()
	a := arenaFor(t, arenaOptions{servers: []*server{shared}, seed: 5, shards: 3, pace: leisurely})
	mix(t, a, 10*time.Second, [][]fault{connectionFaults, eventFaults})
	if f := &a.sites[0].figures; len(f.shares) != 6 || f.kills == 0 {
		t.Errorf("not all shards reported something, or none was killed: %+v", f)
	}
}

// TestClusters watches two clusters in one stream. Both are killed, frozen and cut off, while dwatch is killed. With this
// seed, the first is killed immediately while the second is frozen. The test is not parallel because the others already
// run enough servers.
func TestClusters(t *testing.T) {
	faults := []fault{faultOf("server-killed"), faultOf("server-frozen"), faultOf("refuse"), faultOf("freeze")}
	servers, err := startServers(2)
	t.Cleanup(func() {
		for _, s := range servers {
			s.stop()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	a := arenaFor(t, arenaOptions{servers: servers, seed: 12, state: true})
	mix(t, a, 4*time.Second, [][]fault{faults})
	for _, s := range a.sites {
		if len(s.figures.faults) == 0 || s.figures.kills == 0 {
			t.Errorf("%s had no fault, or dwatch was not killed: %+v", s.name, s.figures)
		}
	}
}

func testMix(t *testing.T, o arenaOptions) {
	o.servers = []*server{serverFor(t)}
	a := arenaFor(t, o)
	mix(t, a, 20*time.Second, a.groups())
}

func mix(t *testing.T, a *arena, lasts time.Duration, groups [][]fault) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	if err := a.mix(ctx, groups, 2*time.Second); err != nil {
		t.Error(err)
	}
	checkEnd(t, a)
}

// serverFor starts a server for one test.
func serverFor(t *testing.T, flags ...string) *server {
	t.Helper()
	s, err := startServer(flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// injectAll injects the faults in sequence and waits until dwatch has recovered from each. It repeats a fault for a longer
// time until it hits something, because the informer may wait for longer than the fault lasts.
func (s *site) injectAll(t *testing.T, window time.Duration, faults ...fault) {
	t.Helper()
	for _, f := range faults {
		hit, lasts := false, window
		for ; !hit; lasts *= 2 {
			if lasts > time.Minute {
				t.Fatalf("%s hits nothing", f.name)
			}
			var err error
			if hit, err = s.inject(t.Context(), f, lasts); err != nil {
				t.Fatal(err)
			}
			s.recovered(f.name)
		}
	}
}

func arenaFor(t *testing.T, o arenaOptions) *arena {
	t.Helper()
	o.label = strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	o.binary = binary
	o.pace = cmp.Or(o.pace, 100*time.Millisecond)
	a, err := newArena(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.tearDown(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// checkEnd ends the run and reports its problems.
func checkEnd(t *testing.T, a *arena) {
	t.Helper()
	if err := a.finish(t.Context()); err != nil {
		t.Error(err)
	}
	for _, s := range a.sites {
		f := &s.figures
		// A dwatch that is restarted repeatedly sends more requests than one that backs off.
		if !a.state && f.peak > 8 {
			t.Errorf("%d requests in a second for %s", f.peak, f.busiest)
		}
		t.Logf("%s", f.String())
		for _, wrong := range f.wrong[:min(len(f.wrong), 20)] {
			t.Error(wrong)
		}
	}
	if t.Failed() {
		for _, d := range a.watchers {
			t.Log(d.lastWords())
		}
	}
}
