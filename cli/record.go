package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

type recordFlags struct {
	watchFlags
	keep  flags.Keeping
	masks flags.Masks
}

func (r *recordFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to record", r.targets.AddTo, r.targets.AddWait, r.masks.AddTo, r.masks.AddShowSecrets(" as they are: who reads the recording reads them")),
		flags.NewGroup("How much is kept", r.keep.AddTo),
		flags.NewGroup("The run", flags.Timeout(&r.w.ending.Timeout, "with exit code 0"), flags.Listen(&r.w.listen)),
	}
}

func (r *recordFlags) parse(args []string, _ terminal) (runner, error) {
	w := &r.w
	if len(args) == 0 {
		return nil, errWhatToRecord
	}
	w.to = &recorded{dir: args[0], keep: r.keep}
	w.kept, w.filter.Marks, w.heartbeat = true, true, recording.Beat
	err := r.selectTargets(args[1:])
	if errors.Is(err, mapper.ErrNoResource) {
		err = errWhatToRecord
	}
	return w, cmp.Or(err, r.masks.Parse(&w.print, true))
}

var errWhatToRecord = errors.New("dwatch record takes the directory to record into, and what to record: dwatch record DIR deploy,po -A")

// recorded is a directory into which a run records.
type recorded struct {
	direct
	dir      string
	keep     flags.Keeping
	recorder *recording.Recorder
}

func (r *recorded) prepare(c *console) (err error) {
	if r.recorder, err = recording.Open(r.dir); err != nil {
		return fail.Usage(r.failed(err))
	}
	for _, note := range r.recorder.Notes() {
		c.warn(r.failed(errors.New(note)).Error() + "; what was in it is not known")
	}
	c.warnReadable("the recording", r.dir)
	return nil
}

// failed says of an error which recording it is about, without a path that is in that.
func (r *recorded) failed(err error) error {
	if inPath, ok := errors.AsType[*os.PathError](err); ok {
		err = inPath.Err
	}
	return fmt.Errorf("recording %s: %w", output.Line(r.dir), err)
}

func (r *recorded) past() event.Past { return r.recorder.Past }

func (r *recorded) note() string { return ", recording into " + r.dir }

func (r *recorded) close() {
	if r.recorder != nil {
		r.recorder.Close() // around has said what was wrong
	}
}

// open begins the run. What another cluster was recorded into is not gone on with.
func (r *recorded) open(ctx context.Context, w *watching, _ func(error)) (event.Sink, error) {
	cluster, err := w.Identity(ctx)
	if err != nil {
		return nil, fail.Server(w.Host, err)
	}
	about := recording.About{Server: w.Host, Cluster: cluster, Namespace: w.Cluster.Namespace, Selection: w.plan.Selection}
	if known := r.recorder.Known(); known.Server != "" && known.Cluster != cluster {
		return nil, fail.Usage(r.failed(fmt.Errorf("it is of another cluster, %s: take another directory", known.Server)))
	}
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		return nil, err
	}
	return r.recorder, r.recorder.Begin(recording.Options{
		Keep: r.keep.Time, MaxSize: r.keep.Size,
		Encode:   encode,
		Object:   func(o event.Object) string { return w.print.Masks.ObjectJSON(o.Raw()) },
		Describe: w.mapper.Describe,
	}, about, w.plan.Targets)
}

func (r *recorded) around(ctx context.Context, _ context.CancelCauseFunc, _ *watching, watch func() error) error {
	err := watch()
	closed := r.recorder.Close()
	r.recorder = nil
	if closed != nil && !strings.Contains(fmt.Sprint(err), closed.Error()) {
		return joined(ctx, err, sinkError{closed})
	}
	return err
}
