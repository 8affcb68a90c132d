// Command chaos proves that dwatch loses nothing: run it from the root of the
// repository, by make chaos or by
//
//	go run ./testdata/chaos [-for 1m] [-seed N] [-dwatch PATH] [-state | -deliver] ...
//
//	writers --------------> API server ----------------------> truth
//	                           |                                 |
//	                         proxy <-- faults              compared at the end
//	                           |                                 |
//	                         dwatch ----> lines --------------> record
//
// Writers create, change, relabel and delete objects of several resources in several namespaces, on a real API server.
// Two dwatch watch them through a proxy that injects faults; one uses a label selector. Now and then the server is killed.
// At the end the writers and the faults stop, and chaos compares the objects in etcd with the printed lines: the last line
// of each object must be its last state, or DELETED if it no longer exists. Each line is also checked on arrival for
// duplicates and order.
//
// With -clusters 2, each dwatch watches two servers, each behind its own proxy. Faults of one cluster must not affect
// another.
//
// With -deliver, each dwatch delivers to a receiver that refuses, hangs, fails and does not answer. dwatch, the receivers
// and the server are killed every few seconds. Every state that dwatch has received must be delivered, and the first
// deliveries of the states of an object must be in order.
//
// With -soak (make soak), there are no faults. One dwatch with rules for each kind of receiver runs for a long time while
// tokens, certificates and credentials are replaced in turn, and its resource use is measured. See soak.go, soak_api.go
// (the API server), soak_receivers.go, soak_rotate.go (the replacements) and soak_measure.go.
//
// With -replicas 2, each dwatch is two processes that share a Lease and a state file and deliver; any of them is killed.
// The last state of each object and each deletion must be delivered, and first deliveries must be in order. A new leader
// delivers only some time after the last delivery of the previous one. States between two leaders may be missing; they
// are counted.
//
// With -shards 3, each dwatch is three processes (--shard 1/3, ...) that each have their own state file; any of them is
// killed. Their output is checked as one, and no object may be reported by two of them. With -deliver as well, they
// deliver to one receiver.
//
// The seed determines the changes of each writer, the faults and their order. Their timing is not reproducible, so a
// failure may need several runs to recur.
//
// The files:
//
//	arena.go, site.go                                  what runs, in all clusters and in one cluster
//	mix.go, faults.go, faults_receiver.go              the order of the faults, and the faults
//	proxy.go, rule.go, listener.go, body.go,
//	editors.go, answers.go, server.go, receiver.go     how faults are injected
//	writer.go, dwatch.go                               the writers, and the processes of dwatch
//	record.go, witness.go, disk.go                     the output, the states that dwatch has received, how far its state may lag
//	finish.go, truth.go, figures.go, counter.go        the comparison with etcd, and the figures
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
)

// options are the command line.
type options struct {
	lasts  time.Duration
	seed   uint64
	dwatch string
	state  bool
	// deliver makes dwatch deliver to receivers.
	deliver bool
	pace    time.Duration
	window  time.Duration
	open    bool
	// clusters is the number of clusters that each dwatch watches.
	clusters int
	// soak runs one dwatch while credentials and certificates are replaced, one each time that every passes.
	soak  bool
	every time.Duration
	// replicas is the number of processes of each dwatch. One of them leads.
	replicas int
	// shards is the number of processes that share the objects of each dwatch.
	shards int
}

// errLies means that what was printed is not what happened.
var errLies = errors.New("dwatch does not tell the truth")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run runs the program until the time of -for is over or ctx ends.
func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	klog.LogToStderr(false) // the writers cause many errors
	klog.SetOutput(io.Discard)
	if o.soak {
		return runSoak(ctx, soakOptions{binary: o.dwatch, seed: o.seed, lasts: o.lasts, every: o.every, pace: o.pace})
	}
	say("starting the server")
	servers, err := startServers(o.clusters)
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.stop())
		}
	}()
	if err != nil {
		return err
	}
	a, err := newArena(context.WithoutCancel(ctx), arenaOptions{
		label: "chaos", servers: servers, binary: o.dwatch, seed: o.seed, pace: o.pace, state: o.state, deliver: o.deliver, replicas: o.replicas, shards: o.shards,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.tearDown()) }()
	ends, cancel := context.WithTimeout(ctx, o.lasts)
	defer cancel()
	mixed := a.groups()
	if o.open {
		mixed = append(slices.Clip(mixed), patienceFaults)
	}
	if err := a.mix(ends, mixed, o.window); err != nil {
		return err
	}
	say("the writers stop; comparing")
	if err := a.finish(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	for _, s := range a.sites {
		fmt.Print(s.figures.String())
	}
	return a.report()
}

// startServers starts n servers in parallel. The caller must stop the returned servers, even after an error.
func startServers(n int) ([]*server, error) {
	started := make([]*server, n)
	var starting errgroup.Group
	for i := range started {
		starting.Go(func() (err error) {
			started[i], err = startServer()
			return err
		})
	}
	err := starting.Wait()
	return slices.DeleteFunc(started, func(s *server) bool { return s == nil }), err
}

// report prints the problems to stderr. It returns errLies if there are any.
func (a *arena) report() error {
	var all []string
	for _, s := range a.sites {
		all = append(all, s.figures.wrong...)
	}
	if len(all) == 0 {
		return nil
	}
	for _, wrong := range all[:min(len(all), 50)] {
		fmt.Fprintln(os.Stderr, wrong)
	}
	for _, d := range a.watchers {
		fmt.Fprint(os.Stderr, d.lastWords())
	}
	return errLies
}

// parse reads the command line.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.DurationVar(&o.lasts, "for", time.Minute, "inject faults for `TIME`")
	flags.Uint64Var(&o.seed, "seed", rand.Uint64N(1e6), "choose faults and changes by `N`; by default another one each time")
	flags.StringVar(&o.dwatch, "dwatch", "bin/dwatch", "`path` of dwatch")
	flags.BoolVar(&o.state, "state", false, "give dwatch --state, and kill it every few seconds")
	flags.BoolVar(&o.deliver, "deliver", false, "let dwatch deliver to receivers that fail, with --state, and kill it, them and the server every few seconds")
	flags.DurationVar(&o.pace, "pace", 0, "each of the writers waits `TIME` between two changes, on the average; by default 100ms, with -soak 1.5s")
	flags.DurationVar(&o.window, "window", 5*time.Second, "a fault that lasts does so for `TIME` at most")
	flags.BoolVar(&o.open, "half-open", false, "also leave watches open and silent for good, which takes minutes to notice")
	flags.IntVar(&o.clusters, "clusters", 1, "watch `N` clusters, each with writers and faults of its own, in one stream")
	flags.BoolVar(&o.soak, "soak", false, "instead of injecting faults, replace the credentials of dwatch, the server and the receivers, and measure the resource use of dwatch")
	flags.DurationVar(&o.every, "every", 10*time.Second, "with -soak, replace one of these every `TIME`")
	flags.IntVar(&o.replicas, "replicas", 1, "let each dwatch be `N` processes with one Lease and one --state, which deliver; kill any of them, now and then")
	flags.IntVar(&o.shards, "shards", 1, "let `N` processes share the objects of each dwatch, with a --state each; kill any of them, every few seconds")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if o.pace == 0 {
		if o.pace = 100 * time.Millisecond; o.soak {
			o.pace = 1500 * time.Millisecond
		}
	}
	if o.lasts <= 0 || o.pace <= 0 || o.window <= 0 || o.every <= 0 {
		return o, errors.New("times are positive")
	}
	if o.clusters < 1 || o.replicas < 1 || o.shards < 1 {
		return o, errors.New("-clusters, -replicas, -shards: there is at least one")
	}
	if o.shards > 1 && (o.replicas > 1 || o.clusters > 1) {
		return o, errors.New("-shards: they are of one cluster, and all work: neither -clusters nor -replicas goes with it")
	}
	if o.replicas > 1 && o.clusters > 1 {
		return o, errors.New("-replicas: their Lease is in one cluster")
	}
	return o, nil
}

// say prints a line about progress to stderr.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
