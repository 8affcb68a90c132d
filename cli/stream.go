package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/output"
)

// streamOptions are the flags of dwatch without a command. Its fields are the groups of flags.
type streamOptions struct {
	followOptions
	printing printFlags
	view     flags.View
	noise    flags.Noise
	from     flags.From // a recording, or empty

	span        flags.TimeRange // --since and --before
	isChanges   bool            // the format is changes
	forPrograms bool            // one of programFlags is given
	terminal    console.Terminal
}

// printFlags are the flags for the printed objects that streams and lists share.
type printFlags struct {
	format flags.Format
	masks  flags.Masks
	color  flags.Color
}

func (l *printFlags) addTo(f *pflag.FlagSet, p *output.Options, kept *bool, formats []string, usage string) {
	l.format.FlagsWithTemplates(formats, usage)(f)
	f.BoolVar(&p.Table.ShowKind, "show-kind", false, "In tables, show the resource type with each name, as for several resources")
	flags.Columns(&p.Table)(f)
	l.masks.AddTo(f)
	l.masks.AddMaskSecretsTo(f)
	flags.ManagedFields(kept)(f)
	l.color.AddTo(f)
}

// read sets how objects are printed. all are the flags of the command.
func (l *printFlags) read(o *output.Options, t console.Terminal, all *pflag.FlagSet) error {
	o.Terminal, o.Color = t.IsTerminal, l.color.IsEnabled(t.IsTerminal && !t.NoColor)
	return cmp.Or(l.format.Parse(o), l.format.Check(all), l.masks.Parse(o, false))
}

func (s *streamOptions) groups() []flags.Group {
	c := &s.cfg
	return []flags.Group{
		flags.NewGroup("What to watch", s.targets.AddTo, s.targets.AddShard, flags.Subject(&s.object), s.targets.AddWait),
		flags.NewGroup("The past", flags.SinceBefore(
			"First print the changes since `TIME`, as far as the cluster retains them, or with --from the recording: how long ago, such as 2h, a time of today, such as 02:00, or a date and a time; see docs/reference/times.md",
			"Print only changes before `TIME`, and end"), s.from.AddTo),
		flags.NewGroup("Which events", flags.Events(&c.Filter), flags.Where(&c.Where), flags.StatusEvents(&c.Filter.PassStatus, &c.Heartbeat)),
		flags.NewGroup("Output", func(f *pflag.FlagSet) {
			s.printing.addTo(f, &c.Print, &c.KeepManaged, flags.StreamFormats, "; by default json, and at a terminal changes")
			s.view.AddInitialTo(f)
		}),
		flags.NewGroup("Changes", s.view.AddTo, flags.PreviousState(&c.Print), s.noise.AddTo, s.printing.masks.AddShowSecrets(" in changes")),
		s.endGroup(),
		flags.NewGroup("The program", func(f *pflag.FlagSet) {
			f.BoolP("watch", "w", false, "Has no effect: dwatch always watches")
			f.Bool("version", false, "Print the version and exit")
		}),
	}
}

// programFlags are flags with which the default format is JSON at a terminal, too.
var programFlags = []string{"marks", "heartbeat", "old", "changes", "patch", "show-managed-fields"}

func (s *streamOptions) complete(args []string, t console.Terminal) error {
	if err := cmp.Or(s.span.Parse(s.all), s.from.Check(s.all)); err != nil {
		return err
	}
	if !s.from.IsSet() {
		s.cfg.Past = s.span
	}
	s.terminal, s.forPrograms = t, slices.ContainsFunc(programFlags, s.all.Changed)
	if t.IsTerminal && !s.forPrograms {
		s.printing.format.Resolve(flags.FormatChanges)
	} else {
		s.printing.format.Resolve("json")
	}
	if err := cmp.Or(s.completeTargets(args), s.printing.read(&s.cfg.Print, t, s.all)); err != nil {
		return err
	}
	s.noise.Apply(&s.cfg.Print.Compare)
	s.cfg.Ignored = s.noise.IgnoredPaths()
	s.cfg.Print.Timestamps = s.view.Timestamps
	s.isChanges = s.cfg.Print.Format == flags.FormatChanges
	s.cfg.Filter.PassStatus = s.cfg.Filter.PassStatus || s.isChanges // from status events, the view learns which objects exist at the start
	if s.from.IsSet() && !s.isChanges && !s.span.Since.IsZero() {
		s.cfg.Filter.WatchOnly = true // existing objects are no changes since --since
	}
	return nil
}

func (s *streamOptions) validate() error {
	format := s.printing.format.Name
	compares := format == flags.FormatChanges || s.cfg.Print.Changes || s.cfg.AsksPast()
	given := s.all.Changed
	switch name := s.noise.ChangedFlag(s.all); {
	case name != "" && !compares:
		return fmt.Errorf("--%s is for changes: it needs -o changes or --changes", name)
	case given("show-secrets") && !compares && !s.cfg.Print.Patch:
		return errors.New("--show-secrets is for changes: it needs -o changes, --changes or --patch (-o json and yaml show the values of Secrets anyway)")
	case format == flags.FormatNone && !given("until") && !given("fail-if") && !given("timeout") && !given("count"):
		return errors.New("-o none prints no events: it needs --until, --fail-if, --count or --timeout")
	}
	if err := s.checkPast(); err != nil {
		return err
	}
	if s.from.IsSet() {
		return s.checkReplay()
	}
	return nil
}

// checkPast returns an error for flags that cannot be combined with --since or --before of a cluster.
func (s *streamOptions) checkPast() error {
	switch c := &s.cfg; {
	case !c.AsksPast():
		return nil
	case c.StateFile != "":
		return errors.New("--state resumes where the last run ended: it cannot be combined with --since or --before")
	case c.OnlyPast() && (c.Ending.HasConditions() || c.Ending.Count > 0):
		return errors.New("--before ends the run after past changes: it cannot be combined with --until, --fail-if or --count")
	case c.Ending.Count > 0:
		return errors.New("--since prints all changes from that time on: it cannot be combined with --count")
	}
	return nil
}

// printedInPart is replay.Options.Unread of commands that print events.
const printedInPart = "not all events may have been printed"

func (s *streamOptions) task() task {
	tables := flags.IsTable(s.cfg.Print.Format)
	needs := run.Requirements{
		Old: s.isChanges || s.cfg.PrintsOld(), ManagedFields: s.isChanges || s.cfg.Print.Changes, Tables: tables,
		FoldSeries: s.isChanges || tables, Interactive: s.isChanges && s.terminal.IsTerminal,
	}
	s.to = destination.Stdout{Needs: needs}
	if s.isChanges {
		s.to = destination.Changes{
			Needs: needs, View: s.view, NoiseFlag: s.noise.ChangedFlag(s.all),
			Problems: s.terminal.IsTerminal && !s.from.IsSet() && s.cfg.Selection.Request.Shard.Count < 2,
		}
	}
	if s.from.IsSet() {
		return s.replayTask(replay.Options{From: s.from, Span: s.span, Unread: printedInPart})
	}
	t := &watchTask{cfg: s.cfg, to: s.to}
	if s.terminal.IsPiped && !s.forPrograms && !s.all.Changed("output") && !s.all.Changed("template") {
		t.notice = "stdout is a pipe, so events are lines of JSON; use -o changes or -o table for people, -q to hide messages"
	}
	return t
}
