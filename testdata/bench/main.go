// Command bench measures dwatch beside kubectl and curl on the test bed, and
// prints narrow Markdown tables, one a subject: run it from the root of the repository, by make
// bench or by
//
//	go run ./testdata/bench [-n PODS] [-rounds R] ...
//
//	fill the cluster -> warm up -> rounds -> medians -> table
//
//	a round: every contender in turn, alone: watch all pods until all are out,
//	         rest, follow updates at full speed, follow updates at a steady rate;
//	         then every contender in turn, some times: start on one small object;
//	         then the ways to a receiver, each beside a bare one, several clusters
//	         in one run, several rules, and shards if they are
//	         chosen; at the end a recording
//
// Progress goes to stderr. One file a subject: cluster.go fills and changes the
// cluster, contenders.go and dialect.go say what runs, process.go and lines.go run it and read
// it, proc.go asks the kernel what it used, share.go what all others used;
// watch.go, list.go, start.go, deliver.go, jetstream.go, fleet.go, rules.go, shards.go, recording.go and day.go measure, results.go and table.go make the
// tables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	pods    int     // how many pods are watched
	rounds  int     // how often everything is measured
	updates int     // written at full speed, in each measurement
	paced   int     // written at the steady rate, in each measurement
	rate    float64 // the steady rate, in updates per second
	starts  int     // how often a round starts each contender on one object
	dwatch  string  // path of the binary
	before  string  // path of another dwatch to compare with; empty: none
	kubectl string  // path of the binary
	without string  // the contender to leave out
	only    string  // the contenders to measure, separated by commas; empty: all
	deliver bool    // delivery is measured
	fleet   bool    // several clusters are
	record  bool    // recordings are
	rules   bool    // rules are
	shards  bool    // shards are: only if they are chosen
	// dayEvents is how many events the recording of a day has; 0: there is none.
	dayEvents int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	switch command := strings.Join(os.Args[1:min(2, len(os.Args))], ""); command {
	case postCommand:
		err = postAll(os.Args[2:])
	case publishCommand:
		err = publishAll(os.Args[2:])
	default:
		err = run(ctx, os.Args[1:])
	}
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the benchmark reads CPU and memory from Linux's /proc: it does not run on %s", runtime.GOOS)
	}
	about, err := describe(opts)
	if err != nil {
		return err
	}
	var others share
	if err := others.begin(); err != nil {
		return err
	}
	found, err := measure(ctx, opts)
	if err != nil {
		return err
	}
	percent, err := others.end()
	if err != nil {
		return err
	}
	about += fmt.Sprintf("\nOther programs took %.0f %% of the CPU meanwhile.", percent)
	if about += "\n\n"; opts.measures(false) {
		about += found.tables(opts) + notes() + "\n"
	}
	about += found.fleets() + "\n" + found.rules() + "\n" + found.shards(opts) + "\n" + found.recordings() + "\n" + found.days(opts.dayEvents) + "\n"
	if opts.measures(opts.deliver) {
		about += found.deliveries() + "\n" + deliveryNotes()
	}
	_, err = os.Stdout.WriteString(about)
	return err
}

// measures reports whether a part is measured that was chosen, or not: without a choice all are.
func (o options) measures(chosen bool) bool {
	return chosen || !o.deliver && !o.fleet && !o.record && !o.rules && !o.shards
}

// parse reads the command line.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.pods, "n", 20000, "watch `N` pods")
	flags.IntVar(&o.rounds, "rounds", 3, "measure everything `R` times")
	flags.IntVar(&o.updates, "updates", 5000, "write `M` updates at full speed")
	flags.IntVar(&o.paced, "paced", 1000, "write `M` updates at a steady rate")
	flags.Float64Var(&o.rate, "rate", 200, "the steady rate, in updates a `second`")
	flags.IntVar(&o.starts, "starts", 7, "start on a single object `K` times a round")
	flags.StringVar(&o.dwatch, "dwatch", "bin/dwatch", "`path` of dwatch")
	flags.StringVar(&o.before, "before", "", "`path` of another dwatch to compare with, such as the one before a change")
	flags.StringVar(&o.kubectl, "kubectl", "bin/kubectl", "`path` of kubectl, built from the server's version")
	flags.BoolVar(&o.deliver, "delivery", false, "measure nothing but delivery, and what else is chosen so")
	flags.BoolVar(&o.fleet, "clusters", false, "measure nothing but several clusters in one run, and what else is chosen so")
	flags.BoolVar(&o.rules, "rules", false, "measure nothing but rules, and what else is chosen so")
	flags.BoolVar(&o.shards, "shards", false, "measure nothing but shards, which are not measured otherwise, and what else is chosen so")
	flags.BoolVar(&o.record, "recording", false, "measure nothing but recordings, and what else is chosen so")
	flags.IntVar(&o.dayEvents, "day", 1_000_000, "ask a recording of a day of `N` events; 0: none")
	flags.StringVar(&o.without, "without", "", "leave out a `contender`: kubectl takes some 14 GB for 100,000 pods")
	flags.StringVar(&o.only, "only", "", "measure only these `contenders` beside curl, e.g. \""+tableName+","+kubectlTableName+"\"")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if !o.measures(o.deliver || o.record) { // nothing is asked of the pods
		o.pods = 2
	}
	// A rate from the first event to the last needs two.
	// The pods are of two kinds.
	if o.pods < 2 || o.rounds < 1 || o.updates < 2 || o.paced < 1 || o.starts < 1 || o.rate <= 0 {
		return o, errors.New("there must be something to measure: the numbers are positive, -n and -updates at least 2")
	}
	if !slices.Contains([]string{"", dwatchOldName, dwatchListName, kubectlName}, o.without) {
		return o, fmt.Errorf("-without %q: it can be %s, %q or %q", o.without, kubectlName, dwatchOldName, dwatchListName)
	}
	return o, nil
}
