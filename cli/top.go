package cli

import (
	"cmp"
	"errors"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
)

// topOptions are the flags of dwatch top. Its fields are the groups of flags.
type topOptions struct {
	watchOptions
	top      flags.Top
	format   flags.Format
	noise    flags.Noise
	masks    flags.Masks
	color    flags.Color
	played   flags.Replay
	terminal console.Terminal
}

func (o *topOptions) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to watch", o.targets.AddTo, o.targets.AddWait),
		o.played.Group(),
		flags.NewGroup("Changes", o.noise.AddTo),
		flags.NewGroup("Output", o.format.Flags([]string{"table", "json"}, "table or json, with a line for each object"), o.top.AddRowsTo, o.color.AddTo, o.masks.AddTo, o.masks.AddShowSecrets("")),
		flags.NewGroup("Interval and end", o.top.AddTo, flags.Timeout(&o.cfg.Ending.Timeout, "with exit code 0; see --interval for when tables are printed")),
	}
}

func (o *topOptions) complete(args []string, t console.Terminal) error {
	o.format.Resolve("table")
	o.terminal = t
	if err := cmp.Or(o.selectTargets(args), o.played.Parse(o.all)); err != nil {
		return err
	}
	o.noise.Apply(&o.cfg.Print.Compare)
	o.cfg.Ignored = o.noise.IgnoredPaths()
	o.cfg.Print.Color = o.color.IsEnabled(t.IsTerminal && !t.NoColor)
	return nil
}

func (o *topOptions) validate() error {
	if err := cmp.Or(o.format.CheckName(), o.masks.Parse(&o.cfg.Print, false)); err != nil || !o.played.From.IsSet() {
		return err
	}
	if o.all.Changed("interval") || o.all.Changed("count") {
		return errors.New("--from counts recorded changes, and prints once: it cannot be combined with --interval or --count")
	}
	return o.checkReplay()
}

func (o *topOptions) task() task {
	to := &destination.Top{Top: o.top, JSON: o.format.Name == "json"}
	o.to = to
	if o.played.From.IsSet() {
		return o.replayTask(replay.Options{From: o.played.From, Span: o.played.Range, Unread: "nothing was printed"})
	}
	to.InPlace = o.terminal.IsTerminal && !o.terminal.IsDumb && !to.JSON
	to.Every = o.top.EffectiveInterval(to.InPlace, o.cfg.Ending.Timeout)
	return o.watchOptions.task()
}

var topDescription = description{
	name:  "top",
	use:   "RESOURCE... [flags]",
	short: "Rank objects by changes, and find fights and hot loops",
	long: `Rank objects by their changes per minute, with the field that changes most and
who changes it. --by field ranks the fields of each object, and --by manager
ranks field managers. dwatch marks fights, in which two managers undo each
other's changes of a field, and hot loops, in which an object is written again
and again without a change. It prints their rows in addition to the first
--rows. At a terminal, the table updates in place until Ctrl-C. In a pipe, it is
printed every --interval, or with --timeout once, at the end.`,
	examples: `  # Rank the objects of the whole cluster
  %[1]s top '*' -A

  # Rank the field managers
  %[1]s top '*' -A --by manager

  # In a script: print the changes within a minute as JSON
  %[1]s top deploy,cm -A --timeout 1m -o json
`,
	mainFlags: []string{"namespace", "all-namespaces", "selector", "by", "rows", "interval", "timeout", "count", "output", "only", "ignore", "from", "since"},
	options:   func() options { return new(topOptions) },
}
