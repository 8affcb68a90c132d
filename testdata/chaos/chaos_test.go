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
	shared *server // one that is never killed
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	os.Unsetenv("GOGC")            // of make test: dwatch has its own
	flag.Set("test.parallel", "8") // the tests wait most of the time
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

// leisurely is the pace of writers where each fault is there until it has hit something, however little
// is written.
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
		// Each with an arena of its own: the informer waits longer and longer
		// between one list and the next.
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
		// What is resumed after the server was killed is gone from its cache.
		"killed":       {nil, []fault{faultOf("server-killed"), faultOf("server-killed")}},
		"CRD replaced": {nil, []fault{faultOf("crd-replaced"), faultOf("crd-replaced")}},
		// Without its cache the server asks etcd, which forgets within seconds.
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

// TestFrozen: all connections are half-open. HTTP/2 notices, and the watch goes on
// over another one while they still are.
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

// TestMix is a short run of what make chaos does.
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

// TestReplicas is the same with two replicas of each dwatch, of which any is killed.
func TestReplicas(t *testing.T) {
	t.Parallel()
	testMix(t, arenaOptions{seed: 4, replicas: 2})
}

// TestShards: three processes share the objects of each dwatch, and any is killed. What they tell together is all there is, and each
// object is told by one.
func TestShards(t *testing.T) {
	t.Parallel()
	a := arenaFor(t, arenaOptions{servers: []*server{shared}, seed: 5, shards: 3, pace: leisurely})
	mix(t, a, 10*time.Second, [][]fault{connectionFaults, eventFaults})
	if f := &a.sites[0].figures; len(f.shares) != 6 || f.kills == 0 {
		t.Errorf("not all of them told something, or none was killed: %+v", f)
	}
}

// TestClusters: two clusters in one stream, of which each is killed, frozen and cut off,
// while dwatch is killed. By its seed, the first is killed at once and the second frozen meanwhile. It
// is not parallel: the others have enough servers running.
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

// serverFor is a server of one test.
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

// injectAll injects one fault after the other, each until it has hit something:
// the informer may wait for longer than it lasts. dwatch recovers from each.
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

// checkEnd ends the run and reports what went wrong.
func checkEnd(t *testing.T, a *arena) {
	t.Helper()
	if err := a.finish(t.Context()); err != nil {
		t.Error(err)
	}
	for _, s := range a.sites {
		f := &s.figures
		// What is started again and again asks more often than what waits.
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
