package cli

import (
	"cmp"
	"errors"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/output/live"
)

// liveOptions are the flags of dwatch live. Its fields are the groups of flags.
type liveOptions struct {
	watchOptions
	view        flags.View
	keepManaged bool
	format      flags.Format
	noise       flags.Noise
	masks       flags.Masks
	color       flags.Color
	rewind      rewindOptions
	terminal    console.Terminal
}

func (l *liveOptions) groups() []flags.Group {
	c := &l.cfg
	return []flags.Group{
		flags.NewGroup("What to show", l.targets.AddTo, flags.Subject(&l.object), l.targets.AddWait, flags.LiveWhere(&c.Where), c.Ending.AddTo),
		flags.NewGroup("The past", l.rewind.addTo),
		flags.NewGroup("Output", l.format.Flags([]string{"table", "wide"}, "table or wide"), flags.Columns(&c.Print.Table), l.color.AddTo, l.view.AddTo, l.noise.AddTo, l.masks.AddShowSecrets(""), flags.ManagedFields(&l.keepManaged)),
	}
}

func (l *liveOptions) complete(args []string, t console.Terminal) error {
	l.format.Resolve("table")
	l.terminal, l.cfg.Filter.PassStatus = t, true
	if err := cmp.Or(l.rewind.read(l.all), l.selectTargets(args)); err != nil {
		return err
	}
	l.noise.Apply(&l.cfg.Print.Compare)
	l.cfg.Ignored = l.noise.IgnoredPaths()
	l.cfg.Print.Color = l.color.IsEnabled(t.IsTerminal && !t.NoColor)
	return nil
}

func (l *liveOptions) validate() error {
	check := replay.CheckFlags(l.all, l.server, l.cfg.Selection)
	if !l.rewind.from.IsSet() {
		check = cmp.Or(l.cfg.Selection.CheckFixedNamespaces("dwatch live"), l.cfg.Ending.Check(false))
	}
	return cmp.Or(check, l.format.Parse(&l.cfg.Print), l.masks.Parse(&l.cfg.Print, false), checkScreen(l.terminal))
}

func checkScreen(t console.Terminal) error {
	switch {
	case !t.IsTerminal:
		return errors.New("dwatch live needs a terminal, but stdout is not a terminal")
	case t.IsDumb:
		return errors.New("dwatch live needs a terminal that can move its cursor, but TERM says that this one can't")
	}
	return nil
}

func (l *liveOptions) task() task {
	to := &destination.Live{View: l.view, KeepManaged: l.keepManaged}
	l.to = to
	if !l.rewind.from.IsSet() {
		return l.watchOptions.task()
	}
	player := replay.NewPlayer(l.rewind.replay())
	timestamps := l.cfg.Print.Timestamps
	to.Past = &destination.LivePast{At: l.rewind.at, Show: func(s *live.Screen) { player.ShowOn(s, timestamps) }}
	return &watchTask{cfg: l.cfg, to: to, player: player}
}
