package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/watcher/recording"
)

// diffOptions are the flags of dwatch diff, which compares two times of a recording, clusters, or two namespaces. Its fields
// are the groups of flags.
type diffOptions struct {
	watchOptions
	printing printFlags
	view     flags.View
	noise    flags.Noise
	from     flags.From
	at       time.Time
	before   time.Time // zero means the end of the recording
	// exitCode makes differences exit code 1.
	exitCode bool
}

func (d *diffOptions) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to compare", d.targets.AddTo, d.targets.AddShard, flags.Timeout(&d.cfg.Ending.Timeout, "with exit code 1 if the comparison is not complete, or 4 with --from")),
		flags.NewGroup("The past", d.from.AddTo,
			flags.At("Compare the state of the recording at `TIME`: how long ago, such as 2h, a time of today, such as 02:55, or a date and a time"),
			flags.Before("Compare with the state at `TIME`; by default with the end of the recording")),
		flags.NewGroup("Output", func(f *pflag.FlagSet) {
			d.printing.addTo(f, &d.cfg.Print, &d.cfg.KeepManaged, flags.StreamFormats, "; by default changes, and json with --changes, --patch or --old")
		}),
		flags.NewGroup("Differences", flags.ExitCode(&d.exitCode), d.view.AddTo, flags.PreviousState(&d.cfg.Print), d.noise.AddTo, d.printing.masks.AddShowSecrets(" in differences")),
	}
}

func (d *diffOptions) complete(args []string, t console.Terminal) error {
	if err := cmp.Or(flags.ParseTimeFlag(d.all, "at", &d.at), flags.ParseTimeFlag(d.all, "before", &d.before)); err != nil {
		return err
	}
	if slices.ContainsFunc(programFlags, d.all.Changed) {
		d.printing.format.Resolve("json")
	} else {
		d.printing.format.Resolve(flags.FormatChanges)
	}
	if err := cmp.Or(d.selectTargets(args), d.printing.read(&d.cfg.Print, t, d.all)); err != nil {
		return err
	}
	d.noise.Apply(&d.cfg.Print.Compare)
	if d.comparesPlaces() {
		d.noise.ApplyAcrossClusters(&d.cfg.Print.Compare)
	}
	d.cfg.Print.Changes = !d.isChanges() && (d.cfg.Print.Changes || !d.cfg.PrintsOld())
	return nil
}

func (d *diffOptions) isChanges() bool { return d.cfg.Print.Format == flags.FormatChanges }

// comparesPlaces reports whether clusters or namespaces are compared, and not two times.
func (d *diffOptions) comparesPlaces() bool { return !d.from.IsSet() || d.at.IsZero() }

func (d *diffOptions) validate() error {
	if err := d.checkSides(); err != nil {
		return err
	}
	if d.comparesPlaces() && d.all.Changed("shard") {
		return errors.New("--shard compares two times, as the UIDs of clusters and namespaces differ: it needs --from DIR and --at TIME")
	}
	if d.from.IsSet() {
		return replay.CheckFlags(d.all, d.server, d.cfg.Selection)
	}
	return nil
}

// checkSides checks that there are two sides to compare.
func (d *diffOptions) checkSides() error {
	several := d.connection.HasMultipleContexts()
	switch {
	case !d.from.IsSet() && several && d.all.Changed("at"), !d.from.IsSet() && several && d.all.Changed("before"):
		return errors.New("--at and --before are for a recording: they need --from DIR")
	case !d.from.IsSet() && several:
		return nil
	case d.from.IsSet() && d.at.IsZero() && d.recordsSeveral():
		return nil
	case d.at.IsZero() && !d.before.IsZero():
		return errNeedsAt
	case d.at.IsZero() && d.cfg.Selection.IsTwoNamespaces():
		return nil
	case !d.from.IsSet():
		return errors.New("dwatch diff compares two times of a recording, two namespaces or several clusters: it needs --from DIR, -n A,B or --context A,B")
	case d.at.IsZero():
		return errNeedsOtherSide
	case !d.before.IsZero() && !d.at.Before(d.before):
		return fmt.Errorf("--at %s must be earlier than --before %s", d.at.Format(time.RFC3339), d.before.Format(time.RFC3339))
	}
	return nil
}

// recordsSeveral reports whether the recording may be of several clusters.
func (d *diffOptions) recordsSeveral() bool {
	if d.connection.SelectsContexts() || d.from.Dir() == "" { // a server is asked later
		return true
	}
	parts, err := recording.FindClusterRecordings(d.from.Dir())
	return err == nil && len(parts) > 0
}

var (
	errNeedsAt        = errors.New("--before is the later of two times to compare: it needs --at TIME")
	errNeedsOtherSide = errors.New("dwatch diff compares two times or two namespaces: it needs --at TIME or -n A,B")
)

func (d *diffOptions) task() task {
	needs := run.Requirements{Old: true, Tables: flags.IsTable(d.cfg.Print.Format)}
	d.to = destination.Stdout{Needs: needs}
	if d.isChanges() {
		d.to = destination.Changes{Needs: needs, View: d.view, NoiseFlag: d.noise.ChangedFlag(d.all)}
	}
	if !d.exitCode {
		return d.comparison()
	}
	counted := &countingDestination{Destination: d.to}
	d.to = counted
	return &exitCodeTask{d.comparison(), counted}
}

// comparison returns the task that compares.
func (d *diffOptions) comparison() task {
	of := comparison{cfg: d.cfg, to: d.to, noiseFlag: d.noise.ChangedFlag(d.all), of: "cluster"}
	switch {
	case d.connection.HasMultipleContexts() && !d.from.IsSet():
		return &compareClustersTask{of}
	case d.comparesPlaces():
		of.of = "namespace"
		return &compareNamespacesTask{of, d.from, d.before}
	}
	return d.replayTask(replay.Options{From: d.from, Span: flags.TimeRange{Since: d.at, Before: d.before}, Difference: true, Unread: printedInPart})
}

// errDifferent ends dwatch diff --exit-code when it has printed differences. It is not reported: they have been.
var errDifferent = errors.New("there are differences")

// exitCodeTask maps the result of a comparison to the exit codes of kubectl diff: 0 if nothing differs, 1 if something differs, and more
// than 1 if the comparison failed.
type exitCodeTask struct {
	task
	printed *countingDestination
}

func (e *exitCodeTask) run(ctx context.Context, c *console.Console) error {
	err := e.task.run(ctx, c)
	switch {
	case err == nil && e.printed.count() > 0:
		return fail.WithExitCode(fail.ExitDifferent, errDifferent)
	case err != nil && !console.IsReaderGone(err) && fail.ExitCode(err) == fail.ExitFailed:
		return fail.WithExitCode(fail.ExitUsage, err)
	}
	return err
}

// countingDestination counts what a destination prints.
type countingDestination struct {
	run.Destination
	printed func() int // nil until it is opened
}

// Open implements run.Destination.
func (c *countingDestination) Open(ctx context.Context, env *run.Environment) (run.Output, error) {
	out, err := c.Destination.Open(ctx, env)
	if err != nil {
		return out, err
	}
	if c.printed = out.Shown; c.printed == nil {
		out.Sink, c.printed = run.CountPrinted(out.Sink)
	}
	return out, nil
}

func (c *countingDestination) count() int {
	if c.printed == nil {
		return 0
	}
	return c.printed()
}
