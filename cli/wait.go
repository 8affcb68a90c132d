package cli

import (
	"cmp"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
)

// waitOptions are the flags of dwatch wait.
type waitOptions struct {
	watchOptions
	until  flags.Wait
	played flags.Replay
}

func (w *waitOptions) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("Conditions", w.until.AddTo),
		flags.NewGroup("What to watch", w.targets.AddTo, w.targets.AddWait),
		w.played.Group(),
	}
}

func (w *waitOptions) complete(args []string, _ console.Terminal) error {
	if err := cmp.Or(w.selectTargets(args), w.played.Parse(w.all)); err != nil {
		return err
	}
	if err := new(flags.Masks).Parse(&w.cfg.Print, false); err != nil { // messages quote values of the objects
		return err
	}
	var err error
	w.cfg.Ending, err = w.until.Parse()
	return err
}

func (w *waitOptions) validate() error {
	if w.played.From.IsSet() {
		return w.checkReplay()
	}
	return nil
}

func (w *waitOptions) task() task {
	w.to = destination.Nothing{}
	if w.played.From.IsSet() {
		return w.replayTask(replay.Options{From: w.played.From, Span: w.played.Range, Unread: "the condition may have been met in the rest of it"})
	}
	return w.watchOptions.task()
}
