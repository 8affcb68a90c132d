package cli

import (
	"errors"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/mapper"
	"dwatch/watcher/recording"
)

// recordOptions are the flags of dwatch record.
type recordOptions struct {
	watchOptions
	keep  flags.Retention
	masks flags.Masks
}

func (r *recordOptions) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to record", r.targets.AddTo, r.targets.AddShard, r.targets.AddWait, r.masks.AddTo, r.masks.AddShowSecrets(" in the recording: everyone who can read it can read them")),
		flags.NewGroup("Retention", r.keep.AddTo),
		flags.NewGroup("Run", flags.Timeout(&r.cfg.Ending.Timeout, "with exit code 0"), flags.Listen(&r.cfg.Listen)),
	}
}

var errWhatToRecord = errors.New("dwatch record takes a directory and the resources to record: dwatch record DIR deploy,po -A")

func (r *recordOptions) complete(args []string, _ console.Terminal) error {
	if len(args) == 0 {
		return errWhatToRecord
	}
	r.cfg.Recording = run.Recording{Dir: args[0], Keep: r.keep}
	r.cfg.KeepManaged, r.cfg.Filter.PassStatus, r.cfg.Heartbeat = true, true, recording.HeartbeatInterval
	err := r.selectTargets(args[1:])
	if errors.Is(err, mapper.ErrNoResource) {
		return errWhatToRecord
	}
	return err
}

func (r *recordOptions) validate() error {
	if err := r.cfg.Selection.CheckFixedNamespaces("dwatch record"); err != nil {
		return err
	}
	return r.masks.Parse(&r.cfg.Print, true)
}

func (r *recordOptions) task() task {
	r.to = destination.Nothing{}
	return r.watchOptions.task()
}
