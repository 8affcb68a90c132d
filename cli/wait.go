package cli

import (
	"cmp"
	"context"

	"dwatch/cli/flags"
	"dwatch/watcher/event"
)

type waitFlags struct {
	watchFlags
	until  flags.Wait
	played flags.Replay
}

func (f *waitFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to wait for", f.until.AddTo),
		flags.NewGroup("Of what", f.targets.AddTo, f.targets.AddWait),
		f.played.Group(),
	}
}

func (f *waitFlags) parse(args []string, _ terminal) (r runner, err error) {
	f.w.to, f.w.fleets = nowhere{}, true
	if err := cmp.Or(f.selectTargets(args), f.played.Parse(f.all)); err != nil {
		return nil, err
	}
	if f.w.ending.StopConditions, err = f.until.Parse(); err == nil && f.played.From.IsSet() {
		return f.replay(f.played, "whether it ever held is not known")
	}
	return &f.w, err
}

type nowhere struct{ direct }

func (nowhere) open(context.Context, *watching, func(error)) (event.Sink, error) {
	return event.SinkFunc(func(context.Context, []event.Event) error { return nil }), nil
}
