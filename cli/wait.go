package cli

import (
	"context"

	"dwatch/cli/flags"
	"dwatch/watcher/event"
)

type waitFlags struct {
	watchFlags
	until flags.Await
}

func (f *waitFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to wait for", f.until.AddTo),
		flags.NewGroup("Of what", f.targets.AddTo, f.targets.AddWait),
	}
}

func (f *waitFlags) parse(args []string, _ terminal) (r runner, err error) {
	f.w.to, f.w.fleets = nowhere{}, true
	if err := f.selectTargets(args); err != nil {
		return nil, err
	}
	f.w.ending.Ending, err = f.until.Parse()
	return &f.w, err
}

type nowhere struct{ direct }

func (nowhere) open(context.Context, *watching, func(error)) (event.Sink, error) {
	return event.SinkFunc(func(context.Context, []event.Event) error { return nil }), nil
}
