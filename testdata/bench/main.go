// Command bench compares dwatch with kubectl and curl on a test cluster and prints Markdown tables,
// one for each subject. Run it in the root of the repository with make bench or with
//
//	go run ./testdata/bench [-n PODS] [-rounds R] ...
//
//	fill the cluster -> warm up -> rounds -> medians -> tables
//
//	round: each contender in turn, alone: watch all pods until all are printed,
//	       wait, receive updates at full speed, receive updates at a steady rate.
//	       Then each contender in turn, several times: start on one small object.
//	       Then delivery, each way compared with a minimal client, several clusters
//	       in one run, several rules, and shards if they are selected.
//	After the last round: recordings.
//
// Progress is printed to stderr. cluster.go creates and updates the objects. contenders.go, dialect.go
// and format.go describe the programs and their output. process.go, lines.go and viewers.go run them
// and read their output. proc.go reads the resources that they use, and share.go measures other
// programs. watch.go, list.go, start.go, deliver.go, jetstream.go, fleet.go, rules.go, shards.go,
// recording.go and day.go measure. results.go and table.go create the tables.
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

// options are the flags.
type options struct {
	pods    int     // number of pods to watch
	rounds  int     // number of rounds
	updates int     // number of updates at full speed in each measurement
	paced   int     // number of updates at the steady rate in each measurement
	rate    float64 // the steady rate, in updates per second
	starts  int     // number of starts of each contender on one object in each round
	dwatch  string  // path of the binary
	before  string  // path of another dwatch to compare with, or empty
	kubectl string  // path of the binary
	without string  // a contender to leave out, or empty
	only    string  // contenders to measure, separated by commas; all if empty
	deliver bool    // select delivery
	fleet   bool    // select several clusters
	record  bool    // select recordings
	rules   bool    // select rules
	shards  bool    // select shards, which are not measured by default
	// dayEvents is the number of events in the recording of a day. Zero disables this measurement.
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

func run(ctx context.Context, args []string) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the benchmark needs /proc of Linux to measure CPU and memory: it does not run on %s", runtime.GOOS)
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
	about += fmt.Sprintf("\nOther programs used %.0f %% of the CPU during the benchmark.", percent)
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

// measures reports whether a part is measured. selected is its flag. If no flag is set, all parts except shards are measured.
func (o options) measures(selected bool) bool {
	return selected || !o.deliver && !o.fleet && !o.record && !o.rules && !o.shards
}

// parse parses and checks the flags.
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
	flags.BoolVar(&o.deliver, "delivery", false, "measure only delivery and other selected parts")
	flags.BoolVar(&o.fleet, "clusters", false, "measure only several clusters in one run and other selected parts")
	flags.BoolVar(&o.rules, "rules", false, "measure only rules and other selected parts")
	flags.BoolVar(&o.shards, "shards", false, "measure only shards, which are not measured by default, and other selected parts")
	flags.BoolVar(&o.record, "recording", false, "measure only recordings and other selected parts")
	flags.IntVar(&o.dayEvents, "day", 1_000_000, "measure queries on a recording of a day with `N` events; 0 disables it")
	flags.StringVar(&o.without, "without", "", "leave out a `contender`; kubectl needs about 14 GB of memory for 100,000 pods")
	flags.StringVar(&o.only, "only", "", "measure only these `contenders` and curl, e.g. \""+tableName+","+kubectlTableName+"\"")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if !o.measures(o.deliver || o.record) { // no part uses the pods
		o.pods = 2
	}
	// There are two kinds of pods. A rate is measured between the first and the last of at least two updates.
	// The pods are of two kinds.
	if o.pods < 2 || o.rounds < 1 || o.updates < 2 || o.paced < 1 || o.starts < 1 || o.rate <= 0 {
		return o, errors.New("numbers must be positive, and -n and -updates at least 2")
	}
	if !slices.Contains([]string{"", dwatchOldName, dwatchListName, kubectlName}, o.without) {
		return o, fmt.Errorf("-without %q: must be %s, %q or %q", o.without, kubectlName, dwatchOldName, dwatchListName)
	}
	return o, nil
}
