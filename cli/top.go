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
		flags.NewGroup("Which changes", o.noise.AddTo),
		flags.NewGroup("How it looks", o.format.Flags([]string{"table", "json"}, "table or json, a line for each object"), o.top.AddRowsTo, o.color.AddTo, o.masks.AddTo, o.masks.AddShowSecrets("")),
		flags.NewGroup("When it is printed, and ends", o.top.AddTo, flags.Timeout(&o.cfg.Ending.Timeout, "with exit code 0, after printing the result")),
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
		return errors.New("--from counts what was recorded, and prints once: it does not go with --interval and --count")
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
	short: "Rank what changes most, and find fights and hot loops",
	long: `Rank objects by how often they change a minute, with the field that changes most
and who changes it; with --by field the fields of each object, and with --by
manager who changes most, and what mostly. Marked in each are fights, in which
two managers undo what the other did to a field, and hot loops, in which an
object is written again and again and nothing of it changes: their rows are
printed beside the first --rows, too. At a terminal it is drawn in place until
Ctrl-C; in a pipe it is printed every --interval, and with
--timeout once, at the end.`,
	examples: `  # What changes most in the whole cluster
  %[1]s top '*' -A

  # Who writes most
  %[1]s top '*' -A --by manager

  # In a script: what changed within a minute, as JSON
  %[1]s top deploy,cm -A --timeout 1m -o json
`,
	options: func() options { return new(topOptions) },
}
