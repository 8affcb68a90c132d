package cli

import (
	"context"

	"dwatch/cli/flags"
	"dwatch/watcher/event"
)

// waitFlags are the flags of dwatch wait.
type waitFlags struct {
	common
	until flags.Await
}

func (f *waitFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to wait for", f.until.AddTo),
		flags.NewGroup("Of what", f.targets.AddTo, f.targets.AddWait),
	}
}

func (f *waitFlags) parse(args []string, _ terminal) (runner, error) {
	w := &watching{connection: &f.connection, to: nowhere{}}
	var err error
	if w.selection, err = f.selected(args); err != nil {
		return nil, err
	}
	if w.ending.Ending, err = f.until.Parse(); err != nil {
		return nil, err
	}
	return w, nil
}

// nowhere is where events go that only decide.
type nowhere struct{ direct }

func (nowhere) open(context.Context, *watching, func(error)) (event.Sink, error) {
	return event.SinkFunc(func(context.Context, []event.Event) error { return nil }), nil
}
