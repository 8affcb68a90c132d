package cli

import (
	"cmp"
	"context"
	"errors"

	"dwatch/cli/flags"
	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

type recordFlags struct {
	watchFlags
	keep  flags.Retention
	masks flags.Masks
}

func (r *recordFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to record", r.targets.AddTo, r.targets.AddShard, r.targets.AddWait, r.masks.AddTo, r.masks.AddShowSecrets(" as they are: who reads the recording reads them")),
		flags.NewGroup("How much is kept", r.keep.AddTo),
		flags.NewGroup("The run", flags.Timeout(&r.w.ending.Timeout, "with exit code 0"), flags.Listen(&r.w.listen)),
	}
}

func (r *recordFlags) parse(args []string, _ terminal) (runner, error) {
	w := &r.w
	if len(args) == 0 {
		return nil, errWhatToRecord
	}
	if w.to = (&recorded{intoDir: intoDir{dir: args[0], keep: r.keep}}); r.connection.HasMultipleContexts() {
		w.to = &recordedEach{dir: args[0], keep: r.keep}
	}
	w.fleets, w.kept, w.filter.PassStatus, w.heartbeat = true, true, true, recording.HeartbeatInterval
	err := r.selectTargets(args[1:])
	if errors.Is(err, mapper.ErrNoResource) {
		err = errWhatToRecord
	}
	if err == nil && w.request.SelectsNamespaces() {
		err = errors.New("dwatch record takes namespaces by their names, or all with -A")
	}
	return w, cmp.Or(err, r.masks.Parse(&w.print, true))
}

var errWhatToRecord = errors.New("dwatch record takes the directory to record into, and what to record: dwatch record DIR deploy,po -A")

// recorded is a run that records one cluster into a directory.
type recorded struct {
	direct
	intoDir
}

func (r *recorded) prepare(c *console) error { return r.intoDir.prepare(c) }

func (r *recorded) close() { r.intoDir.close() }

// open begins the run.
func (r *recorded) open(ctx context.Context, w *watching, _ func(error)) (event.Sink, error) {
	return r.begin(ctx, w, w.session)
}

func (r *recorded) around(ctx context.Context, _ context.CancelCauseFunc, _ *watching, watch func() error) error {
	return r.intoDir.end(ctx, watch())
}
