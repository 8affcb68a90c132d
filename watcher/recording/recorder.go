package recording

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// HeartbeatInterval is how often a run must deliver a heartbeat to a Recorder. If the process is killed, the recording is
// complete up to the last one that was written.
const HeartbeatInterval = 10 * time.Second

// maxSilence is how long a run may write nothing before it counts as delayed. Usually clockMonitor notices a delay
// earlier.
const maxSilence = 2 * HeartbeatInterval

// minSizeFactor is the recommended minimum of Options.MaxSize, as a multiple of the size of the objects at the start of a
// segment. With less, little is left for changes.
const minSizeFactor = 8

// Options configure a run.
type Options struct {
	// Retention is how long segments are kept after their last write, and MaxSize limits the size of all segments in bytes.
	// Zero means no limit. Both apply when a segment begins. The current segment is always kept.
	Retention time.Duration
	MaxSize   int64
	// EncodeEvent appends an object or status event to dst as one line of JSON. EncodeObject returns the JSON of an object
	// for EncodeEvent. Both mask data that must not be recorded.
	EncodeEvent  func(dst []byte, e event.Event) ([]byte, error)
	EncodeObject func(event.Object) string
	// ProbeFreshness, if not nil, is called after a delay or a step of the clock, and by ConfirmCoverage. It should find out
	// how far the watches lag behind.
	ProbeFreshness func()
	// Warn, if not nil, is called once if MaxSize is small compared to the existing objects.
	Warn func(string)
	// Now is the clock. nil means time.Now with a clockMonitor that runs once a second. Another clock is only checked on
	// delivery.
	Now func() time.Time
	// DescribeResource returns the discovery information of a resource.
	DescribeResource func(schema.GroupVersionResource) metav1.APIResource
	// WatchHasNoHistory means that the watch does not use Recorder.History, because other subscribers share its events. The
	// Recorder then compares the listed objects with those of earlier runs.
	WatchHasNoHistory bool
}

// Recorder writes events into a directory. It is an event.Sink. It is one type because each delivered event updates the
// objects, the coverage and the segment under one lock.
type Recorder struct {
	Options
	dir         string
	lock        *os.File
	encoder     *zstd.Encoder
	runInfo     RunInfo
	previousRun *RunInfo // nil if there was none
	warnings    []string // of OpenRecorder

	mu          sync.Mutex // guards the fields below, which checkIdle uses in the background
	objects     *objectSet
	coverage    *coverage
	reader      *lineReader
	unconfirmed unconfirmedObjects // nil unless WatchHasNoHistory is set
	converted   []event.Event      // buffer for unconfirmed.convert

	runID         string         // random
	current       *activeSegment // nil before StartRun
	segmentNumber int            // of current, or of the latest segment
	resources     []metav1.APIResource
	checkedAt     time.Time
	warnedMaxSize bool
	delayed       bool // the times of the next events are unreliable
	clock         clockMonitor
	buffer        []byte
	confirming    chan struct{} // receives a signal after each delivery; nil until ConfirmCoverage is called
}

var _ event.Sink = (*Recorder)(nil)

// OpenRecorder prepares to record into a directory, and continues what earlier runs recorded. It creates the directory if it
// does not exist, and locks it until Close or Discard.
func OpenRecorder(dir string) (_ *Recorder, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r := &Recorder{dir: dir, objects: newObjectSet(), coverage: newCoverage(), reader: newReader()}
	defer func() {
		if err != nil {
			r.release()
		}
	}()
	if r.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	if err := checkSingleCluster(dir); err != nil {
		return nil, fmt.Errorf("%w; use another directory", err)
	}
	if r.encoder, err = newEncoder(); err != nil {
		return nil, err
	}
	return r, r.resume()
}

// lockDir locks a directory until the returned file is closed.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	mine, err := tryLock(lock)
	switch {
	case err != nil:
		err = fmt.Errorf("lock it: %w", err)
	case !mine:
		err = errors.New("another dwatch records into it: use another directory")
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

func (r *Recorder) release() {
	r.clock.stop()
	if r.lock != nil {
		r.lock.Close()
	}
}

// resume reads the objects and the coverage from the last segment, and completes the segment if it has no end. It removes
// segments without a complete start, because they contain nothing else. Damaged and foreign files stay unchanged.
func (r *Recorder) resume() error {
	files, foreign, err := list(r.dir)
	if err != nil {
		return err
	}
	for _, name := range foreign {
		r.warnings = append(r.warnings, name+": not part of a recording")
	}
	if err := removeRepairs(r.dir); err != nil {
		return err
	}
	for n := len(files) - 1; n >= 0; n-- {
		isUnused, err := r.takeOver(files[n])
		if err != nil {
			return err
		}
		if !isUnused {
			r.segmentNumber = files[n].number
			if r.previousRun == nil {
				r.previousRun, err = lastRunInfo(files[:n])
			}
			return err
		}
		if err := os.Remove(files[n].path); err != nil {
			return err
		}
	}
	return nil
}

// lastRunInfo returns the RunInfo of the last readable segment, or nil if there is none.
func lastRunInfo(files []file) (*RunInfo, error) {
	for _, f := range slices.Backward(files) {
		s, err := peek(context.Background(), f)
		if isDamage(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h, _, err := headerOf(context.Background(), s)
		if err != nil {
			return nil, err
		}
		if h != nil {
			return &h.RunInfo, nil
		}
	}
	return nil, nil
}

// takeOver reads a segment, and rewrites it if it has no end. It takes over the objects only if the whole segment is readable.
// isUnused is true if the segment has no complete start and should be removed.
func (r *Recorder) takeOver(f file) (isUnused bool, err error) {
	w, err := newWalker(nil)
	if err != nil {
		return false, err
	}
	defer w.close()
	now := newObjectSet()
	repair := &repair{encoder: r.encoder, path: filepath.Join(r.dir, "."+f.name())}
	w.take = func(l *line) error {
		if l.hasObject() {
			now.observe(&l.Event, true)
		}
		repair.line(l)
		return nil
	}
	if err := w.segment(context.Background(), f, true); err != nil {
		return false, cmp.Or(repair.discard(), err)
	}
	r.coverage = w.coverage
	if w.header != nil {
		r.previousRun = &w.header.RunInfo
	}
	switch {
	case len(w.damaged) > 0:
		for _, d := range w.damaged {
			r.warnings = append(r.warnings, d.Error())
		}
		for _, one := range r.coverage.all {
			one.synced, one.hasObjects = false, false // the objects are unknown
		}
		return false, repair.discard()
	case w.header == nil || w.coverage.unusableReason != "":
		if f.isOurs() && isBeginning(w.unchecked) {
			return true, repair.discard()
		}
		r.warnings = append(r.warnings, (&damage{f.path, "objects are missing that existed when it began"}).Error())
		return false, repair.discard()
	}
	r.objects, r.reader = now, w.reader
	if w.coverage.segmentEnded {
		return false, repair.discard()
	}
	return false, repair.replace(w.coverage.states(), f.path)
}

// removeRepairs removes incomplete copies that takeOver left behind when the process was killed.
func removeRepairs(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name, isHidden := strings.CutPrefix(e.Name(), "."); err == nil && isHidden && e.Type().IsRegular() && (file{path: name}).isOurs() {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// isBeginning reports whether lines without a checksum belong only to the start of a segment.
func isBeginning(unchecked string) bool {
	for one := range strings.Lines(unchecked) {
		kind := event.Type(gjson.Get(one, "type").Str)
		if kind != recordingLine && kind != presentLine && kind != resourceLine && kind != snapshotLine {
			return false
		}
	}
	return true
}

// repair rewrites a segment that has no end. If writing fails, for example because the disk is full, the original stays. It
// is readable, too.
type repair struct {
	encoder *zstd.Encoder
	path    string
	writer  *segmentWriter
	err     error
}

// line adds a line.
func (r *repair) line(l *line) {
	if r.writer == nil && r.err == nil {
		r.writer, r.err = newSegment(r.path, r.encoder)
	}
	if r.err != nil {
		return
	}
	switch {
	case l.resource != nil:
		r.writer.noteResource(*l.resource)
	case l.Type == checkedLine: // checksums depend on the frames, which differ
		r.err = r.writer.check(l.Time)
		return
	default:
		r.writer.noteLine(l)
	}
	r.err = r.writer.line([]byte(l.text+"\n"), l.Time)
	if l.header != nil {
		r.writer.endFrame()
		for _, a := range l.header.Resources {
			r.writer.noteResource(a)
		}
	}
}

func (r *repair) discard() error {
	if r.writer == nil {
		return nil
	}
	r.writer.file.Close()
	return os.Remove(r.path)
}

// replace completes the copy and replaces the original with it.
func (r *repair) replace(states []coverageState, path string) error {
	if r.err == nil {
		r.err = r.writer.close(states)
	}
	if r.err == nil {
		r.err = os.Rename(r.path, path)
	}
	if r.err != nil {
		return r.discard()
	}
	return nil
}

// observe updates the coverage and the objects.
func (r *Recorder) observe(l *line) {
	r.coverage.observe(l)
	if l.Type.IsStatus() {
		r.coverage.trim()
	}
	if l.hasObject() {
		r.objects.observe(&l.Event, true)
	}
}

// Warnings returns descriptions of damaged and foreign files in the directory, one line each.
func (r *Recorder) Warnings() []string { return r.warnings }

// PreviousRun returns what the previous run recorded, or nil if there was none.
func (r *Recorder) PreviousRun() *RunInfo { return r.previousRun }

// History reports the objects that earlier runs recorded for a target. It implements event.HistoryFunc.
func (r *Recorder) History(t event.Target, take func(event.ReportedObject)) (complete bool, err error) {
	for key, one := range r.coverage.all {
		complete = complete || one.synced && covers(key, t.Key())
	}
	for _, o := range r.objects.all() {
		if covers(t.Key(), event.Key{Resource: o.target.Resource().GroupResource(), Namespace: o.Namespace, Name: o.Name}) {
			take(event.ReportedObject{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion})
		}
	}
	return complete, nil
}

// StartRun starts a run and its first segment. It forgets objects of targets that are no longer recorded, and all objects
// if the masks have changed.
func (r *Recorder) StartRun(o Options, about RunInfo, targets []event.Target) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Options, r.runInfo = o, about; r.Now == nil {
		r.Now = time.Now
		r.clock.start(r.checkIdle)
	}
	r.clock.observe(r.Now())
	r.runID = rand.Text()
	wanted := func(k event.Key) bool {
		return slices.ContainsFunc(targets, func(t event.Target) bool { return covers(t.Key(), k) })
	}
	if r.previousRun != nil && r.previousRun.Masks != about.Masks {
		clear(r.objects.byKey)
		clear(r.coverage.all)
	}
	maps.DeleteFunc(r.objects.byKey, func(k objectKey, _ storedObject) bool {
		return !wanted(event.Key{Resource: k.resource, Namespace: k.namespace, Name: k.name})
	})
	maps.DeleteFunc(r.coverage.all, func(k event.Key, _ *targetCoverage) bool { return !wanted(k) })
	if r.WatchHasNoHistory {
		r.unconfirmed = maps.Clone(r.objects.byKey)
	}
	r.coverage.endAll(reasonNotRunning)
	for _, t := range targets {
		r.coverage.target(t.Key())
		r.describe(t)
	}
	now := r.Now()
	if err := r.removeOldSegments(now); err != nil { // first, because the disk may be full
		return err
	}
	if err := r.beginSegment(now, true); err != nil {
		return err
	}
	return r.removeOldSegments(now)
}

// describe returns the discovery information of the resource of a target, and whether it was not known before.
func (r *Recorder) describe(t event.Target) (a metav1.APIResource, isNew bool) {
	gvr := t.Resource()
	if i := slices.IndexFunc(r.resources, func(a metav1.APIResource) bool {
		return a.Group == gvr.Group && a.Version == gvr.Version && a.Name == gvr.Resource
	}); i >= 0 {
		return r.resources[i], false
	}
	a = r.DescribeResource(gvr)
	a.Group, a.Version, a.Name, a.Kind, a.Namespaced = gvr.Group, gvr.Version, gvr.Resource, t.Mapping.GroupVersionKind.Kind, t.Namespaced()
	r.resources = append(r.resources, a)
	r.reader.addResource(&a)
	return a, true
}

func (r *Recorder) beginSegment(now time.Time, begins bool) error {
	r.segmentNumber++
	path := filepath.Join(r.dir, fileName(r.segmentNumber, now))
	w, err := newSegment(path, r.encoder)
	if err != nil {
		r.current = nil
		return err
	}
	h := &header{
		Type: recordingLine, Time: event.Timestamp{Time: now}, Version: FormatVersion, SegmentNumber: r.segmentNumber, StartsRun: begins, Run: r.runID,
		LastTime: event.Timestamp{Time: later(r.coverage.latest, now)}, RunInfo: r.runInfo, Resources: r.resources,
	}
	r.current = &activeSegment{segmentWriter: w, start: now, latestAtStart: h.LastTime.Time}
	r.coverage.beginSegment(h)
	h.Targets = r.coverage.states()
	text, err := json.Marshal(h)
	if err == nil && len(text) >= maxHeaderBytes {
		err = fmt.Errorf("%w: too many resources or namespaces are selected", errHeader)
	}
	if err := cmp.Or(err, r.current.line(append(text, '\n'), now)); err != nil {
		return err
	}
	r.current.endFrame() // readers can read the header separately
	for _, a := range r.resources {
		r.current.noteResource(a)
	}
	if err := r.writePresent(now); err != nil {
		return err
	}
	snapshot := r.current.endSnapshot()
	if snapshot > MaxSegmentBytes/2 {
		return fmt.Errorf("existing objects take %d MiB, and a segment may have at most %d MiB", snapshot>>20, MaxSegmentBytes>>20)
	}
	if r.MaxSize > 0 && r.MaxSize < minSizeFactor*snapshot && !r.warnedMaxSize && r.Warn != nil {
		r.warnedMaxSize = true
		r.Warn(fmt.Sprintf("existing objects take %d KiB of each segment, and all segments may have %d KiB: few changes are kept", snapshot>>10, r.MaxSize>>10))
	}
	return nil
}

// writePresent writes a PRESENT line for each object, and a SNAPSHOT line with their number.
func (r *Recorder) writePresent(now time.Time) error {
	all := r.objects.all()
	for _, o := range all {
		if err := r.writeResource(o.target, now); err != nil {
			return err
		}
		r.buffer = append(append(append(r.buffer[:0], `{"type":"PRESENT","time":"`+event.Timestamp{Time: now}.String()+`","object":`...), o.Raw()...), "}\n"...)
		if err := r.current.line(r.buffer, now); err != nil {
			return err
		}
		r.current.noteNamespace(o.Namespace)
	}
	err := r.write(struct {
		Type  event.Type      `json:"type"`
		Time  event.Timestamp `json:"time"`
		Count int             `json:"count"`
	}{snapshotLine, event.Timestamp{Time: now}, len(all)}, now)
	r.coverage.complete()
	return cmp.Or(err, r.check(now, now))
}

// write writes a line that is not an event.
func (r *Recorder) write(value any, at time.Time) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return r.current.line(append(text, '\n'), at)
}

// writeResource writes a RESOURCE line if the header does not contain the resource of a target, and no earlier line does.
func (r *Recorder) writeResource(t event.Target, at time.Time) error {
	a, isNew := r.describe(t)
	if !isNew {
		return nil // an earlier line has it
	}
	r.current.noteResource(a)
	return r.write(struct {
		Type     event.Type         `json:"type"`
		Time     event.Timestamp    `json:"time"`
		Resource metav1.APIResource `json:"resource"`
	}{resourceLine, event.Timestamp{Time: at}, a}, at)
}

// Deliver implements event.Sink. Within a second, delivered events are written to the file and have a checksum.
func (r *Recorder) Deliver(_ context.Context, batch []event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.deliver(batch); err != nil {
		return fmt.Errorf("record into %s: %w", r.dir, err)
	}
	if r.confirming != nil {
		select {
		case r.confirming <- struct{}{}:
		default:
		}
	}
	return nil
}

// delayThreshold is how long a delivery may take before the times of the next events count as unreliable.
const delayThreshold = 5 * time.Second

// checkEvery is how often a checksum is written and lines are flushed to the file. Shorter intervals compress worse.
const checkEvery = time.Second

func (r *Recorder) deliver(batch []event.Event) error {
	began := r.Now()
	isSilent := began.Sub(r.coverage.lineTime) > maxSilence
	suspended, step := r.clock.take(began)
	if !step.isZero() {
		if err := r.writeStep(step); err != nil {
			return err
		}
	}
	if r.delayed || !suspended.IsZero() {
		if err := r.writeTargetLine(lateLine, event.Target{}, later(r.coverage.lineTime, suspended)); err != nil {
			return err
		}
	}
	isDue := began.Sub(r.checkedAt).Abs() >= checkEvery
	for i := range batch {
		if err := r.recordEvent(&batch[i]); err != nil {
			return err
		}
		isDue = isDue || batch[i].Type.IsStatus() && batch[i].Type != event.Bookmark
	}
	if isDue || r.Now().Sub(r.checkedAt).Abs() >= checkEvery { // encoding may have taken long
		if err := r.check(began, began); err != nil {
			return err
		}
	}
	now := r.Now()
	if r.delayed = now.Sub(began) > delayThreshold; (r.delayed || isSilent || !suspended.IsZero() || !step.isZero()) && r.ProbeFreshness != nil {
		r.ProbeFreshness()
	}
	if !step.isZero() && step.from.Before(now) {
		now = step.from // a new segment must include the ambiguous period
	}
	return r.rotate(now)
}

// writeStep writes a LATE line with the period that the clock may have shown twice. Readers that ignore the member "last"
// treat it as an ordinary delay.
func (r *Recorder) writeStep(step clockStep) error {
	err := r.write(struct {
		Type event.Type      `json:"type"`
		Time event.Timestamp `json:"time"`
		Last event.Timestamp `json:"last"`
	}{lateLine, event.Timestamp{Time: step.from}, event.Timestamp{Time: step.to}}, step.from)
	r.coverage.observe(&line{Event: event.Event{Type: lateLine, Time: step.from}, last: step.to})
	return err
}

// check writes a checksum with time at, and flushes all lines to the file.
func (r *Recorder) check(now, at time.Time) error {
	r.checkedAt = now
	return cmp.Or(r.current.check(at), r.current.flush())
}

// checkIdle calls check if no delivery did so for a second. If that fails, the next delivery returns the error.
func (r *Recorder) checkIdle(now time.Time) {
	if !r.mu.TryLock() {
		return // a delivery holds mu; do not block the clock
	}
	defer r.mu.Unlock()
	if r.current != nil && now.Sub(r.checkedAt).Abs() >= checkEvery {
		_ = r.check(now, r.coverage.lineTime) // a later time would extend the coverage
	}
}

// writeTargetLine writes and observes a line that is not an event. If of is zero, it is about all targets.
func (r *Recorder) writeTargetLine(kind event.Type, of event.Target, at time.Time) error {
	l := struct {
		Type      event.Type      `json:"type"`
		Time      event.Timestamp `json:"time"`
		Resource  string          `json:"resource,omitempty"`
		Namespace string          `json:"namespace,omitempty"`
		Name      string          `json:"name,omitempty"`
	}{kind, event.Timestamp{Time: at}, "", of.Namespace, of.Name}
	if of.Mapping != nil {
		l.Resource = resourceText(of.Resource())
	}
	err := r.write(l, at)
	r.coverage.observe(&line{Event: event.Event{Type: kind, Target: of, Time: at}})
	return err
}

// recordEvent records an event, after conversion if WatchHasNoHistory is set.
func (r *Recorder) recordEvent(e *event.Event) error {
	if r.unconfirmed == nil {
		return r.record(e)
	}
	r.converted = r.unconfirmed.convert(r.converted[:0], *e, e.Initial && r.coverage.isSynced(e.Target.Key()))
	for i := range r.converted {
		if err := r.record(&r.converted[i]); err != nil {
			return err
		}
	}
	clear(r.converted) // release the objects
	return nil
}

func (r *Recorder) record(e *event.Event) (err error) {
	if e.Target.Mapping != nil {
		if err := r.writeResource(e.Target, e.Time); err != nil {
			return err
		}
	}
	recorded := *e
	if !e.Type.IsStatus() {
		if one := r.coverage.target(e.Target.Key()); e.Listed && (!one.since.IsZero() || one.lagUnknown) {
			if err := r.writeTargetLine(listingLine, e.Target, e.Time); err != nil {
				return err
			}
		}
		recorded.Object = event.NewObject(e.Object.Identity, r.EncodeObject(e.Object))
	}
	r.current.noteLine(&line{Event: recorded})
	if r.buffer, err = r.EncodeEvent(r.buffer[:0], recorded); err != nil {
		return err
	}
	if err := r.current.line(r.buffer, e.Time); err != nil {
		return err
	}
	r.observe(&line{Event: recorded})
	return nil
}

// rotate begins a new segment if the current one is due to end.
func (r *Recorder) rotate(now time.Time) error {
	if !r.current.isDue(now, r.coverage.latest, r.MaxSize) {
		return nil
	}
	if err := r.current.close(r.coverage.states()); err != nil {
		return err
	}
	r.coverage.segmentEnded = true
	if err := r.beginSegment(now, false); err != nil {
		return err
	}
	return r.removeOldSegments(now)
}

// removeOldSegments removes the oldest segments as far as Retention and MaxSize require.
func (r *Recorder) removeOldSegments(now time.Time) error {
	files, _, err := list(r.dir)
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	for i, f := range files {
		if f.number == r.segmentNumber {
			return nil
		}
		info, err := os.Stat(f.path)
		if !f.isOurs() {
			continue
		}
		old := err == nil && r.Retention > 0 && now.Sub(info.ModTime()) > r.Retention
		large := r.MaxSize > 0 && total > r.MaxSize
		if !old && !large {
			return nil
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= files[i].size
	}
	return nil
}

// confirmRecently is how long ago the server may have confirmed the coverage of a target for ConfirmCoverage to wait for
// it. Some resources are confirmed only when one of their objects changes.
const confirmRecently = time.Minute

// ConfirmCoverage asks for a freshness probe of all watches, and returns when the server has confirmed the coverage of
// each live target up to now, or when ctx ends. It does not wait for targets that were covered and not confirmed recently.
// It is for the end of a run. Events must be delivered meanwhile. Without ProbeFreshness, it does nothing.
func (r *Recorder) ConfirmCoverage(ctx context.Context) {
	r.mu.Lock()
	if r.current == nil || r.ProbeFreshness == nil {
		r.mu.Unlock()
		return
	}
	asked, confirming := r.Now(), make(chan struct{}, 1)
	r.confirming = confirming
	r.mu.Unlock()
	r.ProbeFreshness()
	for !r.isConfirmed(asked) {
		select {
		case <-confirming:
		case <-ctx.Done():
			return
		}
	}
}

// isConfirmed reports whether the coverage of all live targets that were confirmed recently reaches up to a time.
func (r *Recorder) isConfirmed(asked time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.coverage.all {
		isLive := t.lagUnknown || !t.since.IsZero() && asked.Sub(t.confirmed) < confirmRecently
		if isLive && (t.since.IsZero() || t.confirmed.Before(asked)) {
			return false
		}
	}
	return true
}

// Close ends the run. Deliver must not be called any more.
func (r *Recorder) Close() error {
	defer r.release() // after mu is unlocked, because it waits for checkIdle
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	now := r.Now()
	err := r.write(struct {
		Type event.Type      `json:"type"`
		Time event.Timestamp `json:"time"`
	}{stoppedLine, event.Timestamp{Time: now}}, now)
	if err := cmp.Or(err, r.current.close(r.coverage.states())); err != nil {
		return fmt.Errorf("record into %s: %w", r.dir, err)
	}
	return nil
}

// Discard ends a run without events and removes its segment. Deliver must not be called any more.
func (r *Recorder) Discard() error {
	defer r.release()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	return cmp.Or(r.current.file.Close(), os.Remove(r.current.file.Name()))
}
