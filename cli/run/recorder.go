package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/recording"
	"dwatch/watcher/source"
)

// Recordings are what a run records: one directory, or one for each of several clusters, so that what is proven of one does not
// depend on the others. Methods that every run calls accept nil.
type Recordings struct {
	dir     string
	keep    flags.Retention
	tee     bool // the destination gets the events, too
	masks   *change.Masks
	only    *recorder                  // of the only cluster, or nil
	set     *recording.MultiClusterDir // of several clusters, or nil
	exposed exposedClusters
}

// openRecordings opens the directory, which needs no server.
func openRecordings(c *console.Console, cfg *Config) (*Recordings, error) {
	if cfg.Recording.Dir == "" {
		return nil, nil
	}
	r := &Recordings{dir: cfg.Recording.Dir, keep: cfg.Recording.Keep, tee: cfg.Recording.Tee, masks: cfg.Print.Masks}
	var err error
	if cfg.Connection.HasMultipleContexts() {
		if r.set, err = recording.OpenMultiClusterDir(r.dir); err != nil {
			return nil, recordingError(r.dir, err)
		}
		return r, nil
	}
	r.only, err = r.openRecorder(c, r.dir, "")
	return r, err
}

// close closes the directory of several clusters, and the recording of the only cluster unless that has ended already.
func (r *Recordings) close() {
	if r == nil {
		return
	}
	if r.set != nil {
		r.set.Close()
	}
	if r.only != nil {
		r.only.abandon()
	}
}

// Dir is the directory of the recording.
func (r *Recordings) Dir() string { return r.dir }

// forCluster returns the recorder of a cluster, or nil if nothing is recorded.
func (r *Recordings) forCluster(c *console.Console, cluster string) (*recorder, error) {
	switch {
	case r == nil:
		return nil, nil
	case r.only != nil:
		return r.only, nil
	}
	return r.openRecorder(c, filepath.Join(r.dir, recording.ClusterDirName(cluster)), cluster)
}

func (r *Recordings) openRecorder(c *console.Console, dir, cluster string) (_ *recorder, err error) {
	one := &recorder{Recordings: r, dir: dir, doubts: make(chan struct{}, 1)}
	if r.tee {
		one.exposed = r.exposed.of(cluster)
	}
	if one.recorder, err = recording.OpenRecorder(dir); err != nil {
		return nil, recordingError(dir, err)
	}
	for _, note := range one.recorder.Warnings() {
		c.Warn(one.failed(errors.New(note)).Error() + "; its content is unknown")
	}
	return one, nil
}

// recordingError returns a usage error, unless the disk is at fault.
func recordingError(dir string, err error) error {
	r := &recorder{dir: dir}
	if IsDiskError(err) {
		return r.failed(err)
	}
	return fail.Usage(r.failed(err))
}

// recorder records one cluster into a directory.
type recorder struct {
	*Recordings
	dir      string
	exposed  *exposed
	recorder *recording.Recorder // nil after end
	doubts   chan struct{}       // signals the watches to report their progress
}

// failed adds the directory to err, and removes any path that err contains.
func (r *recorder) failed(err error) error {
	if inPath, ok := errors.AsType[*os.PathError](err); ok {
		err = inPath.Err
	}
	return fmt.Errorf("recording %s: %w", output.EscapeLine(r.dir), err)
}

// recordedWatch is the minimum lifetime of a recorded watch. At its end the server confirms that it has sent everything, which it
// otherwise does once a minute. The time since the last confirmation is unknown if dwatch is killed.
const recordedWatch = 30 * time.Second

// confirmTimeout is how long the end of a run waits for the server to confirm what was recorded up to then. A renewed watch takes two to
// three seconds.
const confirmTimeout = 4 * time.Second

// begin starts to record a session, and sets how it has to be watched.
func (r *recorder) begin(ctx context.Context, s *Session, o *watcher.Options) error {
	o.Bookmarks, o.MinWatchTimeout, o.Recheck = true, recordedWatch, r.doubts
	if !r.tee {
		recorder := r.recorder
		o.History, o.BeforeEnd = recorder.History, func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
			defer cancel()
			recorder.ConfirmCoverage(ctx)
		}
	}
	cluster, err := s.Cluster.Identity(ctx)
	if err != nil {
		return fail.FromServer(s.Cluster.Host, err)
	}
	endpoint, err := s.Cluster.EndpointHash()
	if err != nil {
		return fail.Usage(err)
	}
	about := recording.RunInfo{Server: s.Cluster.Host, ClusterUID: cluster, EndpointID: endpoint, DefaultNamespace: s.Cluster.Namespace, Selection: s.Plan.Selection, Masks: MasksText(r.masks)}
	if known := r.recorder.PreviousRun(); known != nil {
		if err := checkSameRecording(*known, about); err != nil {
			return fail.Usage(r.failed(err))
		}
		about.ClusterUID = cmp.Or(cluster, known.ClusterUID)
	}
	r.exposed.begin(about)
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		return err
	}
	return r.recorder.StartRun(recording.Options{
		Retention: r.keep.MaxAge, MaxSize: r.keep.MaxSize,
		EncodeEvent:      encode,
		EncodeObject:     func(o event.Object) string { return r.masks.MaskJSON(o.Raw()) },
		DescribeResource: s.Mapper.APIResource,
		Warn: func(text string) {
			s.Console.Warn(r.failed(errors.New(text)).Error() + ": a larger --max-size keeps more")
		},
		ProbeFreshness:    func() { source.Signal(r.doubts) },
		WatchHasNoHistory: r.tee,
	}, about, s.Plan.Targets)
}

// note says where the run records.
func (r *recorder) note() string {
	if r == nil {
		return ""
	}
	return ", recording into " + r.dir
}

// stage returns a Sink that records each batch and then passes it on to next, without the bookmarks that only a recording needs. An
// error of either ends the run, and the other one still gets the batch.
func (r *recorder) stage(next event.Sink) event.Sink {
	var passed []event.Event
	record := limitHeartbeats(withoutCluster(r.recorder))
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		began := time.Now()
		failed := record.Deliver(ctx, batch)
		passed = passed[:0]
		for _, e := range batch {
			r.exposed.observe(e)
			if e.Type != event.Bookmark {
				passed = append(passed, e)
			}
		}
		var err error
		if len(passed) > 0 {
			err = next.Deliver(ctx, passed)
		}
		clear(passed) // releases the objects
		switch r.recorder.ReportDelay(time.Since(began)); {
		case failed == nil:
			return err
		case err != nil && IsLoss(err):
			return LossError{errors.Join(failed, err)}
		}
		return LossError{failed}
	})
}

// withoutCluster returns a Sink before next that removes the name of the cluster: a recording is of one cluster.
func withoutCluster(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		if slices.ContainsFunc(batch, func(e event.Event) bool { return e.Target.Cluster != "" }) {
			batch = slices.Clone(batch)
			for i := range batch {
				batch[i].Target.Cluster = ""
			}
		}
		return next.Deliver(ctx, batch)
	})
}

// limitHeartbeats returns a Sink before a recorder that passes on no more heartbeats than a recording needs. Other stages may need
// more, and each one is a line of the recording.
func limitHeartbeats(recorder event.Sink) event.Sink {
	var last time.Time
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		isSurplus := func(e event.Event) bool {
			if e.Type != event.Heartbeat {
				return false
			}
			early := e.Time.Sub(last) < recording.HeartbeatInterval*9/10
			if !early {
				last = e.Time
			}
			return early
		}
		if slices.ContainsFunc(batch, func(e event.Event) bool { return e.Type == event.Heartbeat }) {
			if batch = slices.DeleteFunc(slices.Clone(batch), isSurplus); len(batch) == 0 {
				return nil
			}
		}
		return recorder.Deliver(ctx, batch)
	})
}

// end closes the recording after a watch that ended with err.
func (r *recorder) end(ctx context.Context, err error) error {
	if r == nil || r.recorder == nil {
		return err
	}
	closed := r.recorder.Close()
	r.recorder = nil
	if closed != nil && !strings.Contains(fmt.Sprint(err), closed.Error()) {
		return JoinUndelivered(ctx, err, LossError{closed})
	}
	return err
}

// endTry closes the recording of a cluster whose watch ended with err and is tried again. If the cluster has not answered, it removes
// what the try has written.
func (r *recorder) endTry(answered bool, err error) error {
	if r == nil {
		return err
	}
	end := r.recorder.Close
	if !answered {
		end = r.recorder.Discard
	}
	if failed := end(); failed != nil && !IsLoss(err) {
		return errors.Join(err, LossError{failed})
	}
	return err
}

// abandon closes a recording that was not begun, or whose begin has failed.
func (r *recorder) abandon() {
	if r.recorder != nil {
		r.recorder.Close()
	}
}

// checkSameRecording returns an error if about may not be recorded into a directory that contains known.
func checkSameRecording(known, about recording.RunInfo) error {
	switch same, canTell := about.SameCluster(known); {
	case !canTell:
		return fmt.Errorf("it contains objects of %s, and dwatch cannot tell whether that is this cluster: use another directory, or record with permission to get namespace kube-system (see dwatch rbac record)", known.Server)
	case !same:
		return fmt.Errorf("it contains objects of another cluster, %s: use another directory", known.Server)
	}
	if was, is := selectorsOf(known.Selection), selectorsOf(about.Selection); was != is {
		return fmt.Errorf("it contains %s, and this run would record %s: use another directory", was, is)
	}
	return nil
}

// selectorsOf describes the selectors of a selection.
func selectorsOf(s event.Selection) string {
	var parts []string
	if s.Labels != "" {
		parts = append(parts, "objects with labels "+s.Labels)
	}
	if s.Fields != "" {
		parts = append(parts, "objects with fields "+s.Fields)
	}
	if s.Shard != (event.Shard{}) {
		parts = append(parts, "objects in shard "+s.Shard.String())
	}
	return cmp.Or(strings.Join(parts, " and "), "all objects")
}

// MasksText is equal for masks that hide the same.
func MasksText(m *change.Masks) string {
	parts := []string{fmt.Sprintf("secrets=%t", m.Secrets)}
	for _, p := range m.Paths {
		parts = append(parts, p.String())
	}
	slices.Sort(parts[1:])
	return strings.Join(parts, " ")
}
