package cli

import (
	"context"
	"errors"

	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/watcher/recording"
)

// watchTask runs a Config from clusters, or from a recording, to a destination.
type watchTask struct {
	cfg    run.Config
	to     run.Destination
	notice string // printed first if not empty
	// player replays a recording instead of watching clusters. browser does so for a page.
	player  *replay.Player
	browser *replay.Browser
	// receiver are the flags of dwatch send, for podRunsOf. It is nil for other commands.
	receiver *sendOptions
}

// isLasting implements watcherTask. A comparison of two times ends soon, and the page of a recording reports nothing after its start.
func (w *watchTask) isLasting() bool {
	return w.browser == nil && (w.player == nil || !w.player.Difference)
}

// judgesStates implements judgingTask.
func (w *watchTask) judgesStates() bool {
	return w.to.Requirements().States || w.cfg.JudgesStates()
}

// run implements task.
func (w *watchTask) run(ctx context.Context, c *console.Console) error {
	if w.notice != "" {
		c.Say(w.notice)
	}
	switch {
	case w.player != nil:
		return w.player.Run(ctx, c, w.cfg, w.to)
	case w.browser != nil:
		return w.browser.Run(ctx, c, w.cfg, w.to)
	}
	open := run.Watch(w.cfg.Connection, w.cfg.Selection)
	if !w.to.Requirements().Stdout {
		return run.Do(ctx, c, w.cfg, open, w.to)
	}
	reading, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	err := run.Do(reading, c, w.cfg, open, w.to)
	if w.cfg.StateFile != "" {
		return run.ReaderEnd(ctx, reading, err)
	}
	return err
}

// privileged is a task that takes rights in a cluster.
type privileged interface{ needs() []run.Need }

func (w *watchTask) needs() []run.Need { return []run.Need{needOf(&w.cfg, w.to)} }

// needOf lists the actions of a run that take rights.
func needOf(cfg *run.Config, to run.Destination) run.Need {
	r := to.Requirements()
	return run.Need{
		Connection: cfg.Connection, Selection: cfg.Selection,
		Identity:  r.Identity || cfg.Recording.Dir != "" || cfg.StateFile != "",
		Past:      cfg.AsksPast(),
		Reasons:   cfg.Ending.HasConditions() || r.Events,
		Logs:      cfg.Ending.Logs.Explicit && cfg.Ending.Logs.Lines > 0,
		Revisions: r.Revisions,
	}
}

// watchOptions are the flags of the commands that run a Config.
type watchOptions struct {
	common
	cfg run.Config
	to  run.Destination
}

// selectTargets reads the arguments.
func (w *watchOptions) selectTargets(args []string) (err error) {
	w.cfg.Connection = &w.connection
	w.cfg.Selection, err = w.selected(args)
	return err
}

// task implements options, for clusters.
func (w *watchOptions) task() task { return &watchTask{cfg: w.cfg, to: w.to} }

// checkReplay returns an error for flags that cannot be combined with --from.
func (w *watchOptions) checkReplay() error {
	for _, c := range w.cfg.Ending.AllConditions() {
		if c.Requirements().Now {
			return errors.New(c.String() + " depends on the current time, but in a recording dwatch evaluates conditions only at events: it cannot be combined with --from")
		}
	}
	return replay.CheckFlags(w.all, w.server, w.cfg.Selection)
}

// replayTask is the task for a recording.
func (w *watchOptions) replayTask(o replay.Options) task {
	return &watchTask{cfg: w.cfg, to: w.to, player: replay.NewPlayer(o)}
}

// recordTee sets --record.
func (w *watchOptions) recordTee(f flags.Recording) {
	w.cfg.Recording = run.Recording{Dir: f.Dir, Keep: f.Retention, Tee: f.Dir != ""}
	if f.Dir != "" {
		w.cfg.Heartbeat = recording.HeartbeatInterval
	}
}

// followOptions are the flags that the stream and dwatch send share.
type followOptions struct{ watchOptions }

func (f *followOptions) endGroup() flags.Group {
	return flags.NewGroup("End, state and monitoring", f.cfg.Ending.AddTo, f.cfg.Ending.AddCountTo,
		flags.State(&f.cfg.StateFile), flags.Listen(&f.cfg.Listen), flags.Verify(&f.cfg.Verify))
}

// completeTargets reads the targets, and checks them against --state and the flags that end a run.
func (f *followOptions) completeTargets(args []string) error {
	if err := f.selectTargets(args); err != nil {
		return err
	}
	if f.object != nil && f.cfg.StateFile != "" {
		return errors.New("--for looks up the owners of objects when Events arrive: it cannot be combined with --state")
	}
	if f.cfg.StateFile != "" {
		if err := f.cfg.Selection.CheckFixedNamespaces("--state"); err != nil {
			return err
		}
	}
	return f.cfg.Ending.Check(f.cfg.StateFile != "")
}

// isPlaced reports whether all of needs say in which namespaces to look.
func isPlaced(needs []run.Need) bool {
	for _, n := range needs {
		if !n.NamesNamespaces() {
			return false
		}
	}
	return true
}
