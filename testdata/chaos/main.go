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
// Writers create, change, relabel and delete objects of several resources in
// several namespaces, on a real API server. Two dwatch watch them through a proxy
// that misbehaves, one with a label selector; now and then the server is killed.
// At the end the writers stop, the faults too, and what etcd holds is compared
// with what was printed: the last line of each object is its last state, and of
// each that is gone, DELETED. Each line is checked as it comes, for what was
// printed before or out of order.
//
// With -clusters 2, each dwatch watches that many servers, behind a proxy each; what is
// said here holds for each of them, whatever happens to the others meanwhile.
//
// With -deliver, each dwatch sends to a receiver in place of stdout, which refuses,
// hangs, fails and forgets to answer; and dwatch, the receivers and the server are killed
// every few seconds. Then every state that dwatch has seen must be there, for the first
// time in its order.
//
// With -soak (make soak) nothing misbehaves: one dwatch with rules for receivers of each kind runs for long, while all by which
// it, the server and the receivers know each other is made anew, again and again; what it takes is measured
// (soak.go; soak_api.go and soak_receivers.go are both sides, soak_rotate.go says what is made anew, soak_measure.go measures).
//
// With -replicas 2, each dwatch is that many processes with one Lease, which deliver, and have one
// state: any of them is killed. The last state of each object must be there, and each deletion, for the first
// time in order; who takes over from another one does so a while after that has delivered at last. States in
// between may be missing while nobody leads: they are counted.
//
// With -shards 3, each dwatch is that many processes with a state each, of which each has its share of the objects
// (--shard 1/3, ...), and any is killed. What they tell is judged as if it were of one, and an object that two of them tell is
// wrong. With -deliver besides, they deliver to one receiver.
//
// What is random comes from the seed: the changes of each writer, the faults and
// their order. How they meet does not repeat, so a failure may take several runs
// to come back.
//
// One file a subject: arena.go is the place where all meet, site.go what is there of
// each cluster, mix.go the order of
// the faults, faults.go their list; proxy.go, rule.go, listener.go, body.go,
// editors.go and answers.go bring them about, server.go those of the server;
// writer.go writes, dwatch.go runs the program, receiver.go and faults_receiver.go are
// what it delivers to, witness.go knows what it has seen; disk.go measures how far its state
// may be behind, record.go checks what it prints, finish.go and truth.go compare it with
// etcd, figures.go and counter.go count.
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
	// deliver: receivers get the events.
	deliver bool
	pace    time.Duration
	window  time.Duration
	open    bool
	// clusters is how many each dwatch watches.
	clusters int
	// soak: one dwatch runs for long, and everything is made anew meanwhile, in turn, each so often.
	soak  bool
	every time.Duration
	// replicas is how many processes each dwatch is, of which one leads.
	replicas int
	// shards is how many processes share the objects of each dwatch.
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

// run is the program. It ends when the time is over, or ctx.
func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	klog.LogToStderr(false) // of the writers' errors there are many
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

// startServers starts some at once. Those that it returns have to be stopped, also after an
// error.
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

// report says on stderr what went wrong.
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
	flags.BoolVar(&o.soak, "soak", false, "in place of faults, make everything anew by which dwatch, the server and receivers know each other, and measure what dwatch takes")
	flags.DurationVar(&o.every, "every", 10*time.Second, "with -soak, one of these each `TIME`")
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

// say tells on stderr what is going on.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
