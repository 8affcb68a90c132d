package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/watcher/recording"
)

// diffFlags are those of dwatch diff: what is different between two times of a recording, or between
// clusters or two namespaces.
type diffFlags struct {
	watchFlags
	look   look
	view   flags.View
	noise  flags.Noise
	from   flags.From
	before time.Time // zero: the end of the recording
	at     time.Time
	// exitCode makes differences exit code 1.
	exitCode bool
}

func (d *diffFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to compare", d.targets.AddTo, d.targets.AddShard, flags.Timeout(&d.w.ending.Timeout, "with exit code 1 if not all is known by then")),
		flags.NewGroup("The past", d.from.AddTo,
			flags.At("What was there at `TIME`: how long ago, such as 2h, a time of today, such as 02:55, or a date and a time"),
			flags.Before("With what was there at `TIME`; by default at the end of the recording")),
		flags.NewGroup("How it looks", func(f *pflag.FlagSet) {
			d.look.addTo(f, &d.w.print, &d.w.kept, flags.StreamFormats, "; by default changes, and json with --changes, --patch or --old")
		}),
		flags.NewGroup("What is different", flags.ExitCode(&d.exitCode), d.view.AddTo, flags.PreviousState(&d.w.print), d.noise.AddTo, d.look.masks.AddShowSecrets(" in what is different")),
	}
}

func (d *diffFlags) parse(args []string, t terminal) (runner, error) {
	r, err := d.comparison(args, t)
	if err != nil || !d.exitCode {
		return r, err
	}
	return &diffExitCode{r, &d.w}, nil
}

// comparison returns what runs the comparison.
func (d *diffFlags) comparison(args []string, t terminal) (runner, error) {
	w := &d.w
	if err := cmp.Or(flags.ParseTimeFlag(d.all, "at", &d.at), flags.ParseTimeFlag(d.all, "before", &d.before)); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(forPrograms, d.all.Changed) {
		d.look.format.Resolve("json")
	} else {
		d.look.format.Resolve(flags.FormatChanges)
	}
	if err := cmp.Or(d.selectTargets(args), d.look.parse(&w.print, t, d.all), d.check()); err != nil {
		return nil, err
	}
	d.noise.Apply(&w.print.Compare)
	places := !d.from.IsSet() || d.at.IsZero()
	if places && d.all.Changed("shard") {
		return nil, errors.New("--shard is of one side, and what is compared with it would be in another shard: it needs --from DIR and --at TIME")
	}
	if places {
		d.noise.ApplyAcrossClusters(&w.print.Compare)
	}
	isChanges := w.print.Format == flags.FormatChanges
	w.print.Changes = !isChanges && (w.print.Changes || !w.showsOld())
	w.needs = needs{old: true, tables: flags.IsTable(w.print.Format)}
	w.to, w.prints = printed{}, true
	if isChanges {
		w.to = &changesView{view: d.view, why: d.noise.ChangedFlag(d.all)}
	}
	of := clustersCompared{w: w, noise: d.noise.ChangedFlag(d.all), of: ofClusters}
	switch {
	case d.connection.HasMultipleContexts() && !d.from.IsSet():
		return &of, nil
	case places:
		of.of = ofNamespaces
		r := &namespacesCompared{of, d.from, d.before}
		if !d.from.IsSet() {
			return r, nil
		}
		return r, checkFrom(d.all, d.server, w.selection)
	}
	r := &replayed{w: w, from: d.from, span: flags.TimeRange{Since: d.at, Before: d.before}, net: true, unread: printedInPart}
	return r, checkFrom(d.all, d.server, w.selection)
}

func (d *diffFlags) check() error {
	several := d.connection.HasMultipleContexts()
	switch {
	case !d.from.IsSet() && several && d.all.Changed("at"), !d.from.IsSet() && several && d.all.Changed("before"):
		return errors.New("--at and --before ask a recording: they need --from DIR")
	case !d.from.IsSet() && several:
		return nil
	case d.from.IsSet() && d.at.IsZero() && d.isOfSeveral():
		return nil
	case d.at.IsZero() && !d.before.IsZero():
		return errBefore
	case d.at.IsZero() && d.w.areTwo():
		return nil
	case !d.from.IsSet():
		return errors.New("dwatch diff compares two times of a recording, two namespaces or several clusters: it needs --from DIR, -n A,B or --context A,B")
	case d.at.IsZero():
		return errNoOther
	case !d.before.IsZero() && !d.at.Before(d.before):
		return fmt.Errorf("--at %s is not before --before %s", d.at.Format(time.RFC3339), d.before.Format(time.RFC3339))
	}
	return nil
}

// isOfSeveral reports whether a recording is of several clusters, which are compared then, or asked for as
// such.
func (d *diffFlags) isOfSeveral() bool {
	if d.connection.SelectsContexts() || d.from.Dir() == "" { // who has it is asked later
		return true
	}
	parts, err := recording.FindClusterRecordings(d.from.Dir())
	return err == nil && len(parts) > 0
}

var (
	errBefore  = errors.New("--before is compared with what was there at a time: it needs --at TIME")
	errNoOther = errors.New("dwatch diff compares with what was there at a time: it needs --at TIME, or two namespaces, -n A,B")
)
