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

// Beat is how often a run has to deliver a heartbeat to a Recorder: what it had heard of by then is
// known to be all, should it be killed.
const HeartbeatInterval = 10 * time.Second

// maxSilence is how long a run may write nothing, which it never does unless it is held up. It is
// the last resort: clockMonitor notices it sooner.
const maxSilence = 2 * HeartbeatInterval

const (
	// A segment ends when this, and twice as much as what was there at its begin, has come; or after
	// a day.
	segmentBytes = 4 << 20
	segmentTime  = 24 * time.Hour
	// segmentRaw and segmentTimes bound what has to be read to know what was there at a time: so
	// many bytes of lines, or times of what was there at the begin.
	segmentRaw   = 96 << 20
	segmentTimes = 4
	// segmentShare is how many segments there are at least in Options.MaxSize.
	segmentShare = 8
	// scarce is how many times what is there MaxSize is at least, for more to be kept than the segment
	// that is written to and some before it.
	minSizeFactor = 8
)

// Options say how to record.
type Options struct {
	// Keep is for how long segments are kept after their end, MaxSize how many bytes all may take;
	// 0: without limit. The one that is written to is kept in any case.
	Retention time.Duration
	MaxSize   int64
	// Encode appends an event of an object or a mark to dst as one line, and Object an object as it
	// stands there: both hide what is not to be recorded.
	EncodeEvent  func(dst []byte, e event.Event) ([]byte, error)
	EncodeObject func(event.Object) string
	// Doubt, if not nil, is called when what was watched may have waited: it is to be found out how
	// far behind that is.
	ProbeFreshness func()
	// Warn, if not nil, is called once if MaxSize is small for what is there.
	Warn func(string)
	// Now is the clock; nil means time.Now. One that is given does not show by itself that the
	// process was stopped: see clockMonitor.
	Now func() time.Time
	// Describe says what a resource is called.
	DescribeResource func(schema.GroupVersionResource) metav1.APIResource
	// Anew: the watch was not given Past, as its events are for others, too: it begins anew, and what
	// became of what is known is found out here.
	WatchHasNoHistory bool
}

// Recorder writes events into a directory. It is an event.Sink.
type Recorder struct {
	Options
	dir         string
	lock        *os.File
	encoder     *zstd.Encoder
	runInfo     RunInfo
	previousRun *RunInfo // of the run before; nil: there is none
	warnings    []string

	mu          sync.Mutex // of all that follows: what was delivered last gets its sum later
	objects     *objectSet
	coverage    *coverage
	reader      *lineReader
	unconfirmed unconfirmedObjects // nil: the watch was given Past
	converted   []event.Event      // as what the present event is recorded

	runID             string         // of this run alone
	current           *segmentWriter // nil: none yet
	segmentNumber     int            // of the current one, or the last
	segmentStart      time.Time
	latestAtStart     time.Time // the latest of all lines when it began
	snapshotBytes     int64     // what was there at its begin takes that
	snapshotLineBytes int64     // as lines
	resources         []metav1.APIResource
	checkedAt         time.Time
	warnedMaxSize     bool // Warn has been called
	delayed           bool // the last delivery took so long that something may wait
	clock             clockMonitor
	buffer            []byte
}

var _ event.Sink = (*Recorder)(nil)

// Open prepares to record into a directory, which is made if it is not there. Nobody else may write
// to it until Close. What earlier runs have recorded is gone on from.
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
		return nil, fmt.Errorf("%w; take another directory", err)
	}
	if r.encoder, err = newEncoder(); err != nil {
		return nil, err
	}
	return r, r.resume()
}

// lockDir takes a directory until the file that it returns is closed.
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
		err = errors.New("another dwatch records into it: take another directory")
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

// resume reads what the last segment says is there, and gives it its end if it has none. One in
// which a run was killed before it had written what was there is removed: nothing else is in it.
// What is damaged or foreign stays as it is.
func (r *Recorder) resume() error {
	files, foreign, err := list(r.dir)
	if err != nil {
		return err
	}
	for _, name := range foreign {
		r.warnings = append(r.warnings, name+" is no part of a recording")
	}
	if err := removeRepairs(r.dir); err != nil {
		return err
	}
	for n := len(files) - 1; n >= 0; n-- {
		left, err := r.takeOver(files[n])
		if err != nil {
			return err
		}
		if !left {
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

// newestAbout returns what the last segment says that can be read; nil: there is none.
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

// takeOver reads a segment, and writes it anew if it has no end. What was there is taken over only
// if all of it can be read. isLeft: it has nothing.
func (r *Recorder) takeOver(f file) (isLeft bool, err error) {
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
			one.synced, one.hasObjects = false, false // what is there is not known, and none of it is taken over
		}
		return false, repair.discard()
	case w.header == nil || w.coverage.unusableReason != "":
		if f.isOurs() && isBeginning(w.unchecked) {
			return true, repair.discard()
		}
		r.warnings = append(r.warnings, (&damage{f.path, "what was there when it began is missing"}).Error())
		return false, repair.discard()
	}
	r.objects, r.reader = now, w.reader
	if w.coverage.segmentEnded {
		return false, repair.discard()
	}
	return false, repair.replace(w.coverage.states(), f.path)
}

// removeRepairs removes what runs have left that were killed while they wrote a segment anew.
func removeRepairs(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name, isHidden := strings.CutPrefix(e.Name(), "."); err == nil && isHidden && e.Type().IsRegular() && (file{path: name}).isOurs() {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// isBeginning reports whether lines behind the last sum say no more than what was there when a segment
// began.
func isBeginning(unchecked string) bool {
	for one := range strings.Lines(unchecked) {
		kind := event.Type(gjson.Get(one, "type").Str)
		if kind != recordingLine && kind != presentLine && kind != resourceLine && kind != snapshotLine {
			return false
		}
	}
	return true
}

// repair writes a segment without an end anew. Where that can't be written, as on a full disk, the
// segment stays as it is: it can be read all the same.
type repair struct {
	encoder *zstd.Encoder
	path    string
	writer  *segmentWriter
	err     error
}

// line writes a line.
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
	case l.Type == checkedLine: // it has other frames, and their sums
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

// end puts the segment in the place of the one without an end.
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

// observe takes over what a line says of what is there and what is known.
func (r *Recorder) observe(l *line) {
	r.coverage.observe(l)
	if l.Type.IsStatus() {
		r.coverage.trim()
	}
	if l.hasObject() {
		r.objects.observe(&l.Event, true)
	}
}

// Notes are what there is to say of what was in the directory, a line each.
func (r *Recorder) Warnings() []string { return r.warnings }

// Known is what the run before recorded; nil if there was none.
func (r *Recorder) PreviousRun() *RunInfo { return r.previousRun }

// Past is what earlier runs recorded of a target. It implements event.HistoryFunc.
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

// Begin begins a run, of these targets; what is no longer recorded is forgotten, and all if other
// things are hidden than before.
func (r *Recorder) StartRun(o Options, about RunInfo, targets []event.Target) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Options, r.runInfo = o, about; r.Now == nil {
		r.Now = time.Now
		r.clock.start(r.checkIdle)
	}
	r.clock.look(r.Now())
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
	if err := r.removeOldSegments(now); err != nil { // first: there may be no space but that
		return err
	}
	if err := r.beginSegment(now, true); err != nil {
		return err
	}
	return r.removeOldSegments(now)
}

// describe asks what the resource of a target is called, and reports whether that is new.
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

func (r *Recorder) beginSegment(now time.Time, begins bool) (err error) {
	r.segmentNumber++
	path := filepath.Join(r.dir, fileName(r.segmentNumber, now))
	if r.current, err = newSegment(path, r.encoder); err != nil {
		return err
	}
	r.segmentStart = now
	h := &header{
		Type: recordingLine, Time: event.Timestamp{Time: now}, Version: FormatVersion, SegmentNumber: r.segmentNumber, StartsRun: begins, Run: r.runID,
		LastTime: event.Timestamp{Time: later(r.coverage.latest, now)}, RunInfo: r.runInfo, Resources: r.resources,
	}
	r.latestAtStart = h.LastTime.Time
	r.coverage.beginSegment(h)
	h.Targets = r.coverage.states()
	text, err := json.Marshal(h)
	if err == nil && len(text) >= maxHeaderBytes {
		err = fmt.Errorf("%w: too many resources or namespaces are selected", errHeader)
	}
	if err := cmp.Or(err, r.current.line(append(text, '\n'), now)); err != nil {
		return err
	}
	r.current.endFrame() // it can be read by itself
	for _, a := range r.resources {
		r.current.noteResource(a)
	}
	if err := r.writePresent(now); err != nil {
		return err
	}
	if r.snapshotBytes, r.snapshotLineBytes = r.current.size, r.current.lineBytes; r.snapshotBytes > MaxSegmentBytes/2 {
		return fmt.Errorf("existing objects take %d MiB, and a segment may have at most %d MiB", r.snapshotBytes>>20, MaxSegmentBytes>>20)
	}
	if r.MaxSize > 0 && r.MaxSize < minSizeFactor*r.snapshotBytes && !r.warnedMaxSize && r.Warn != nil {
		r.warnedMaxSize = true
		r.Warn(fmt.Sprintf("what is there takes %d KiB of each segment, and all may take %d KiB: little of what happens is kept", r.snapshotBytes>>10, r.MaxSize>>10))
	}
	return nil
}

// writePresent writes what is there, and that this is all.
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

// write writes a line of the recording's own.
func (r *Recorder) write(value any, at time.Time) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return r.current.line(append(text, '\n'), at)
}

// explain writes what the resource of a target is called, before its first line in the segment.
func (r *Recorder) writeResource(t event.Target, at time.Time) error {
	a, isNew := r.describe(t)
	if !isNew {
		return nil // the header has it
	}
	r.current.noteResource(a)
	return r.write(struct {
		Type     event.Type         `json:"type"`
		Time     event.Timestamp    `json:"time"`
		Resource metav1.APIResource `json:"resource"`
	}{resourceLine, event.Timestamp{Time: at}, a}, at)
}

// Deliver implements event.Sink. What was delivered is with the system, and has its sum, a second later.
func (r *Recorder) Deliver(_ context.Context, batch []event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.deliver(batch); err != nil {
		return fmt.Errorf("record into %s: %w", r.dir, err)
	}
	return nil
}

// heldUpAfter is how long a delivery takes after which the next is of what may have waited.
const delayThreshold = 5 * time.Second

// checkEvery is how often lines get a sum, before which they are not known to be what was written, and are
// given to the system: the fewer there are at once, the less they can be compressed.
const checkEvery = time.Second

func (r *Recorder) deliver(batch []event.Event) error {
	began := r.Now()
	isSilent := began.Sub(r.coverage.lineTime) > maxSilence
	halted, step := r.clock.take(began)
	if !step.isZero() {
		if err := r.writeStep(step); err != nil {
			return err
		}
	}
	if r.delayed || !halted.IsZero() {
		if err := r.writeTargetLine(lateLine, event.Target{}, later(r.coverage.lineTime, halted)); err != nil {
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
	if isDue || r.Now().Sub(r.checkedAt).Abs() >= checkEvery { // it may have taken long
		if err := r.check(began, began); err != nil {
			return err
		}
	}
	now := r.Now()
	if r.delayed = now.Sub(began) > delayThreshold; (r.delayed || isSilent || !halted.IsZero() || !step.isZero()) && r.ProbeFreshness != nil {
		r.ProbeFreshness()
	}
	if !step.isZero() && step.from.Before(now) {
		now = step.from // a segment that begins now begins with all that is ambiguous
	}
	return r.rotate(now)
}

// writeStep writes that the clock was put back. Readers that do not know the member "last" take it for a LATE line
// without it, which says less.
func (r *Recorder) writeStep(step clockStep) error {
	err := r.write(struct {
		Type event.Type      `json:"type"`
		Time event.Timestamp `json:"time"`
		Last event.Timestamp `json:"last"`
	}{lateLine, event.Timestamp{Time: step.from}, event.Timestamp{Time: step.to}}, step.from)
	r.coverage.observe(&line{Event: event.Event{Type: lateLine, Time: step.from}, last: step.to})
	return err
}

// check gives all lines a sum, which has a time of lines, and all of them to the system.
func (r *Recorder) check(now, at time.Time) error {
	r.checkedAt = now
	return cmp.Or(r.current.check(at), r.current.flush())
}

// settle is check for lines that have waited for it for a second, as nothing came after them. That it
// fails, the next delivery does.
func (r *Recorder) checkIdle(now time.Time) {
	if !r.mu.TryLock() {
		return // a delivery goes on, and the clock is not to wait for it
	}
	defer r.mu.Unlock()
	if r.current != nil && now.Sub(r.checkedAt).Abs() >= checkEvery {
		_ = r.check(now, r.coverage.lineTime) // it says nothing of the time since
	}
}

// writeOwn writes a line of the recording's own, and observes it.
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

// take records an event as what it is in the recording.
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
	clear(r.converted) // and let go of what it holds
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

// rotate begins another segment if the current one is large or old, and drops what is not kept.
func (r *Recorder) rotate(now time.Time) error {
	limit := min(max(segmentBytes, 2*r.snapshotBytes), MaxSegmentBytes/4)
	if r.MaxSize > 0 {
		limit = min(limit, max(r.MaxSize/segmentShare, r.snapshotBytes, 64<<10))
	}
	isLarge := r.current.size-r.snapshotBytes >= limit || r.current.lineBytes-r.snapshotLineBytes >= max(segmentRaw, segmentTimes*r.snapshotLineBytes)
	isBack := r.coverage.latest.Sub(now) > clockSlack && r.coverage.latest.After(r.latestAtStart)
	if !isLarge && !isBack && now.Sub(r.segmentStart) < segmentTime {
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

// drop removes the oldest segments that are too many, or too old.
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

// Close ends the run. Nobody may deliver any more.
func (r *Recorder) Close() error {
	defer r.release() // which waits for what waits for mu
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

// Withdraw ends a run in which nothing has happened: the segment that it began is removed. Nobody may
// deliver any more.
func (r *Recorder) Discard() error {
	defer r.release()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	return cmp.Or(r.current.file.Close(), os.Remove(r.current.file.Name()))
}
