package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/recording"
	"dwatch/watcher/source"
)

// intoDir records what happens in one cluster into a directory.
type intoDir struct {
	dir      string
	keep     flags.Retention
	beside   bool   // others get the events, too, and their watch begins anew
	shown    *shown // of what is recorded so
	recorder *recording.Recorder
	doubts   chan struct{} // holds one: the watches are to show how far behind they are
}

func (r *intoDir) prepare(c *console) (err error) {
	r.doubts = make(chan struct{}, 1)
	if r.recorder, err = recording.OpenRecorder(r.dir); err != nil {
		return r.unopened(err)
	}
	for _, note := range r.recorder.Warnings() {
		c.warn(r.failed(errors.New(note)).Error() + "; what was in it is not known")
	}
	c.warnReadable("the recording", r.dir)
	return nil
}

// unopened is why nothing can be recorded: wrong usage, unless it is the disk.
func (r *intoDir) unopened(err error) error {
	if isOfDisk(err) {
		return r.failed(err)
	}
	return fail.Usage(r.failed(err))
}

// isOfDisk reports whether it is the disk that is wrong: another run may fare better.
func isOfDisk(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO)
}

// failed says of an error which recording it is about, without a path that is in that.
func (r *intoDir) failed(err error) error {
	if inPath, ok := errors.AsType[*os.PathError](err); ok {
		err = inPath.Err
	}
	return fmt.Errorf("recording %s: %w", output.EscapeLine(r.dir), err)
}

// recordedLife is how long a watch lives that is recorded: at its end the server says that it has sent
// all, which it would not before a minute has passed. So much is not known when the run is killed.
const recordedLife = 30 * time.Second

// demand implements demanding.
func (r *intoDir) demand(o *watcher.Options) {
	o.Bookmarks, o.MinWatchTimeout, o.Recheck = true, recordedLife, r.doubts
	if !r.beside {
		o.History = r.recorder.History
	}
}

func (r *intoDir) note() string { return ", recording into " + r.dir }

func (r *intoDir) close() {
	if r.recorder != nil {
		r.recorder.Close() // who ended the run has said what was wrong
	}
}

// begin begins a run, of what a session has planned. What another cluster was recorded into is not gone on
// with.
func (r *intoDir) begin(ctx context.Context, w *watching, s *session) (event.Sink, error) {
	cluster, err := s.Identity(ctx)
	if err != nil {
		return nil, fail.FromServer(s.Host, err)
	}
	endpoint, err := s.EndpointHash()
	if err != nil {
		return nil, fail.Usage(err)
	}
	about := recording.RunInfo{Server: s.Host, ClusterUID: cluster, EndpointID: endpoint, DefaultNamespace: s.Cluster.Namespace, Selection: s.plan.Selection, Masks: masksText(w.print.Masks)}
	if known := r.recorder.PreviousRun(); known != nil {
		if err := sameRecording(*known, about); err != nil {
			return nil, fail.Usage(r.failed(err))
		}
		about.ClusterUID = cmp.Or(cluster, known.ClusterUID)
	}
	r.shown.begin(about)
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		return nil, err
	}
	return r.recorder, r.recorder.StartRun(recording.Options{
		Retention: r.keep.MaxAge, MaxSize: r.keep.MaxSize,
		EncodeEvent:       encode,
		EncodeObject:      func(o event.Object) string { return w.print.Masks.MaskJSON(o.Raw()) },
		DescribeResource:  s.mapper.APIResource,
		Warn:              func(text string) { s.warn(r.failed(errors.New(text)).Error() + ": a larger --max-size keeps more") },
		ProbeFreshness:    func() { source.Signal(r.doubts) },
		WatchHasNoHistory: r.beside,
	}, about, s.plan.Targets)
}

// end ends a run that ended with err.
func (r *intoDir) end(ctx context.Context, err error) error {
	closed := r.recorder.Close()
	r.recorder = nil
	if closed != nil && !strings.Contains(fmt.Sprint(err), closed.Error()) {
		return joined(ctx, err, sinkError{closed})
	}
	return err
}

// sameRecording finds what is not to be recorded into the same directory as what is known.
func sameRecording(known, about recording.RunInfo) error {
	switch same, canTell := about.SameCluster(known); {
	case !canTell:
		return fmt.Errorf("it is of %s, and it can't be told whether that is this cluster: take another directory, or record with the right to get namespace kube-system, as dwatch rbac record prints it", known.Server)
	case !same:
		return fmt.Errorf("it is of another cluster, %s: take another directory", known.Server)
	}
	if was, is := selectors(known.Selection), selectors(about.Selection); was != is {
		return fmt.Errorf("it is of %s, and this would be of %s: take another directory", was, is)
	}
	return nil
}

// selectors says what objects are selected by, besides what they are called.
func selectors(s event.Selection) string {
	var parts []string
	if s.Labels != "" {
		parts = append(parts, "what has labels "+s.Labels)
	}
	if s.Fields != "" {
		parts = append(parts, "what has fields "+s.Fields)
	}
	if s.Shard != (event.Shard{}) {
		parts = append(parts, "what is in shard "+s.Shard.String())
	}
	return cmp.Or(strings.Join(parts, " and "), "all objects")
}

// masksText is the same for what hides the same.
func masksText(m *change.Masks) string {
	parts := []string{fmt.Sprintf("secrets=%t", m.Secrets)}
	for _, p := range m.Paths {
		parts = append(parts, p.String())
	}
	slices.Sort(parts[1:])
	return strings.Join(parts, " ")
}
