package recording

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// Beat is how often a run has to deliver a heartbeat to a Recorder: what it had heard of by then is
// known to be all, should it be killed.
const Beat = 10 * time.Second

const (
	// A segment ends when this, and twice as much as what was there at its begin, has come; or after
	// a day.
	segmentBytes = 4 << 20
	segmentTime  = 24 * time.Hour
	// segmentShare is how many segments there are at least in Options.MaxSize.
	segmentShare = 8
)

// Options say how to record.
type Options struct {
	// Keep is for how long segments are kept after their end, MaxSize how many bytes all may take;
	// 0: without limit. The one that is written to is kept in any case.
	Keep    time.Duration
	MaxSize int64
	// Encode appends an event of an object or a mark to dst as one line, and Object an object as it
	// stands there: both hide what is not to be recorded.
	Encode func(dst []byte, e event.Event) ([]byte, error)
	Object func(event.Object) string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Describe says what a resource is called.
	Describe func(schema.GroupVersionResource) metav1.APIResource
}

// Recorder writes events into a directory. It is an event.Sink.
type Recorder struct {
	Options
	dir     string
	lock    *os.File
	encoder *zstd.Encoder
	about   About
	known   About // of the run before
	notes   []string

	held   *held
	sights *sights
	reader *reader

	current   *segmentWriter // nil: none yet
	number    int            // of the current one, or the last
	begun     time.Time
	snapshot  int64 // what was there at its begin takes that
	resources map[schema.GroupVersionResource]bool
	text      []byte
}

var _ event.Sink = (*Recorder)(nil)

// Open prepares to record into a directory, which is made if it is not there. Nobody else may write
// to it until Close. What earlier runs have recorded is gone on from.
func Open(dir string) (_ *Recorder, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r := &Recorder{dir: dir, held: newHeld(), sights: newSights(), reader: newReader()}
	defer func() {
		if err != nil {
			r.release()
		}
	}()
	if r.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	switch mine, err := tryLock(r.lock); {
	case err != nil:
		return nil, fmt.Errorf("lock it: %w", err)
	case !mine:
		return nil, errors.New("another dwatch records into it: take another directory")
	}
	if r.encoder, err = newEncoder(); err != nil {
		return nil, err
	}
	return r, r.resume()
}

func (r *Recorder) release() {
	if r.lock != nil {
		r.lock.Close()
	}
}

// resume reads what the last segment says is there, and gives it its end if it has none.
func (r *Recorder) resume() error {
	files, foreign, err := list(r.dir)
	if err != nil {
		return err
	}
	for _, name := range foreign {
		r.notes = append(r.notes, name+" is no part of a recording")
	}
	for n := len(files) - 1; n >= 0; n-- {
		r.number = max(r.number, files[n].number)
		s, err := load(files[n])
		if errors.As(err, new(*damage)) {
			if r.isLeft(files[n]) {
				err = os.Remove(files[n].path)
			} else {
				r.notes, err = append(r.notes, err.Error()), nil
			}
			if err != nil {
				return err
			}
			r.sights.missed = "a part of the recording is damaged"
			continue
		}
		if err != nil {
			return err
		}
		return r.takeOver(s)
	}
	return nil
}

// isLeft reports whether a file is one of which a run was killed before it wrote anything.
func (r *Recorder) isLeft(f file) bool { return f.size == 0 }

// takeOver reads a segment, and writes it anew if it has no end.
func (r *Recorder) takeOver(s *segment) (err error) {
	u, err := newUnpacker()
	if err != nil {
		return err
	}
	defer u.close()
	missed := r.sights.missed
	r.sights.missed = ""
	var repaired *segmentWriter
	path := filepath.Join(r.dir, "."+filepath.Base(s.path))
	if s.index == nil {
		os.Remove(path) // of a repair that was killed
		if repaired, err = newSegment(path, r.encoder); err != nil {
			return err
		}
	}
	lost := func(d *damage) { r.notes, missed = append(r.notes, d.Error()), "a part of the recording is damaged" }
	err = s.lines(u, func(text string) error {
		l, err := r.reader.read(text)
		if err != nil {
			lost(&damage{s.path, err.Error()})
			return nil
		}
		r.observe(&l)
		if l.header != nil {
			r.known = l.header.About
		}
		if repaired == nil {
			return nil
		}
		switch {
		case l.resource != nil:
			repaired.noteResource(*l.resource)
		case l.object():
			repaired.noteNamespace(l.Object.Namespace)
		}
		return repaired.line([]byte(text+"\n"), l.Time)
	}, lost)
	r.sights.missed = cmp.Or(missed, r.sights.missed)
	if repaired == nil {
		return err
	}
	if err := cmp.Or(err, repaired.close(r.sights.states())); err != nil {
		return err
	}
	return os.Rename(path, s.path)
}

// observe takes over what a line says of what is there and what is known.
func (r *Recorder) observe(l *line) {
	r.sights.observe(l)
	if l.object() {
		r.held.observe(&l.Event, true)
	}
}

// Notes are what there is to say of what was in the directory, a line each.
func (r *Recorder) Notes() []string { return r.notes }

// Known is what the run before recorded; zero if there was none.
func (r *Recorder) Known() About { return r.known }

// Past is what earlier runs recorded of a target. It implements event.Past.
func (r *Recorder) Past(t event.Target, take func(event.Reported)) (complete bool, err error) {
	for key, one := range r.sights.all {
		complete = complete || one.synced && covers(key, t.Key())
	}
	for _, o := range r.held.all() {
		if covers(t.Key(), event.Key{Resource: o.target.Resource().GroupResource(), Namespace: o.Namespace, Name: o.Name}) {
			take(event.Reported{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion})
		}
	}
	return complete, nil
}

// Begin begins a run, of these targets; what is no longer recorded is forgotten.
func (r *Recorder) Begin(o Options, about About, targets []event.Target) error {
	if r.Options, r.about = o, about; r.Now == nil {
		r.Now = time.Now
	}
	wanted := func(k event.Key) bool {
		return slices.ContainsFunc(targets, func(t event.Target) bool { return covers(t.Key(), k) })
	}
	for key := range r.held.objects {
		if !wanted(event.Key{Resource: key.resource, Namespace: key.namespace, Name: key.name}) {
			delete(r.held.objects, key)
		}
	}
	now := r.Now()
	for key, one := range r.sights.all {
		one.lose(r.sights.last, notRunning)
		if !wanted(key) {
			one.open.Why, one.synced = unrecorded, false
		}
	}
	if err := r.beginSegment(now, true); err != nil {
		return err
	}
	return r.drop(now)
}

func (r *Recorder) beginSegment(now time.Time, begins bool) (err error) {
	r.number++
	path := filepath.Join(r.dir, fileName(r.number, now))
	if r.current, err = newSegment(path, r.encoder); err != nil {
		return err
	}
	r.begun, r.resources = now, map[schema.GroupVersionResource]bool{}
	l := line{Event: event.Event{Type: begun, Time: now}, header: &header{
		Type: begun, Time: stamp{now}, Version: Version, Segment: r.number, Begins: begins, About: r.about,
	}}
	r.sights.observe(&l)
	l.header.Targets = r.sights.states()
	if err := r.write(l.header, now); err != nil {
		return err
	}
	r.current.endFrame() // it can be read by itself
	for _, o := range r.held.all() {
		if err := r.explain(o.target, now); err != nil {
			return err
		}
		r.text = append(append(append(r.text[:0], `{"type":"PRESENT","time":"`+now.UTC().Format(stampLayout)+`","object":`...), o.Raw()...), "}\n"...)
		if err := r.current.line(r.text, now); err != nil {
			return err
		}
		r.current.noteNamespace(o.Namespace)
	}
	err = r.current.flush()
	r.snapshot = r.current.size
	return err
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
func (r *Recorder) explain(t event.Target, at time.Time) error {
	gvr := t.Resource()
	if r.resources[gvr] {
		return nil
	}
	r.resources[gvr] = true
	a := r.Describe(gvr)
	a.Group, a.Version, a.Name, a.Kind, a.Namespaced = gvr.Group, gvr.Version, gvr.Resource, t.Mapping.GroupVersionKind.Kind, t.Namespaced()
	r.reader.learn(&a)
	r.current.noteResource(a)
	return r.write(struct {
		Type     event.Type         `json:"type"`
		Time     stamp              `json:"time"`
		Resource metav1.APIResource `json:"resource"`
	}{resource, stamp{at}, a}, at)
}

// Deliver implements event.Sink: all of batch is with the system when it returns.
func (r *Recorder) Deliver(_ context.Context, batch []event.Event) error {
	for i := range batch {
		if err := r.record(&batch[i]); err != nil {
			return fmt.Errorf("record into %s: %w", r.dir, err)
		}
	}
	err := r.current.flush()
	if err == nil {
		err = r.rotate(r.Now())
	}
	if err != nil {
		return fmt.Errorf("record into %s: %w", r.dir, err)
	}
	return nil
}

func (r *Recorder) record(e *event.Event) (err error) {
	if e.Target.Mapping != nil {
		if err := r.explain(e.Target, e.Time); err != nil {
			return err
		}
	}
	recorded := *e
	if !e.Type.IsMark() {
		recorded.Object = event.NewObject(e.Object.Identity, r.Object(e.Object))
		r.current.noteNamespace(e.Object.Namespace)
	}
	if r.text, err = r.Encode(r.text[:0], recorded); err != nil {
		return err
	}
	if err := r.current.line(r.text, e.Time); err != nil {
		return err
	}
	r.observe(&line{Event: recorded})
	return nil
}

// rotate begins another segment if the current one is large or old, and drops what is not kept.
func (r *Recorder) rotate(now time.Time) error {
	limit := max(segmentBytes, 2*r.snapshot)
	if r.MaxSize > 0 {
		limit = min(limit, max(r.MaxSize/segmentShare, 64<<10))
	}
	if r.current.size-r.snapshot < limit && now.Sub(r.begun) < segmentTime {
		return nil
	}
	if err := r.current.close(r.sights.states()); err != nil {
		return err
	}
	if err := r.beginSegment(now, false); err != nil {
		return err
	}
	return r.drop(now)
}

// drop removes the oldest segments that are too many, or too old.
func (r *Recorder) drop(now time.Time) error {
	files, _, err := list(r.dir)
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	for i, f := range files {
		if f.number == r.number {
			return nil
		}
		info, err := os.Stat(f.path)
		old := err == nil && r.Keep > 0 && now.Sub(info.ModTime()) > r.Keep
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
	defer r.release()
	if r.current == nil {
		return nil
	}
	now := r.Now()
	err := r.write(struct {
		Type event.Type `json:"type"`
		Time stamp      `json:"time"`
	}{stopped, stamp{now}}, now)
	if err := cmp.Or(err, r.current.close(r.sights.states())); err != nil {
		return fmt.Errorf("record into %s: %w", r.dir, err)
	}
	return nil
}
