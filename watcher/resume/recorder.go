package resume

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// Recorder is a stage of the stream: it knows what has been told. It is also
// what the printer writes to, and hands the text on when the file is ready for
// it. Its methods are called from one goroutine.
type Recorder struct {
	saved  map[event.Key]*saved
	writer *writer
	// What has come since the last flush.
	text    []byte
	changes []change
}

// Record returns a Recorder that writes to out from a goroutine of its own.
// failed is called from there, once, when out or the file can't be written.
func (f *File) Record(out io.Writer, failed func(error)) *Recorder {
	return &Recorder{saved: f.saved, writer: startWriter(f, out, failed)}
}

// Write takes a text. It goes out at the next flush.
func (r *Recorder) Write(text []byte) (int, error) {
	r.text = append(r.text, text...)
	return len(text), nil
}

// Stage puts the Recorder around a stage: next prints an event, in the end to
// Write, and flush hands to Write what next has kept back. The returned flush
// waits only where the disk or the reader is far behind. An error of out or of
// the file comes with one of the later calls.
func (r *Recorder) Stage(next func(event.Event) error, flush func() error) (func(event.Event) error, func() error) {
	all := func() error {
		if err := flush(); err != nil {
			return err
		}
		err := r.writer.put(r.text, r.changes)
		r.text = r.text[:0]
		clear(r.changes)
		r.changes = r.changes[:0]
		return err
	}
	emit := func(e event.Event) error {
		if err := next(e); err != nil {
			return err
		}
		r.note(e)
		if len(r.changes) < flushChanges && len(r.text) < flushText {
			return nil
		}
		return all() // a stream that never pauses
	}
	return emit, all
}

// Close returns when all that was flushed has been written and recorded, or the
// error why it has not.
func (r *Recorder) Close() error { return r.writer.close() }

// note adds what e tells to what is to be recorded.
func (r *Recorder) note(e event.Event) {
	switch {
	case e.Type == event.Synced:
		r.target(e.Target, true)
	case !e.Type.IsMark():
		r.changes = append(r.changes, change{
			target: r.target(e.Target, false),
			kind:   e.Type,
			key:    encodeKey(e.Object.Namespace, e.Object.Name),
			state:  newState(e.Object.UID, e.Object.ResourceVersion),
		})
	}
}

// target returns the target in the file, and has written what is new about it.
func (r *Recorder) target(t event.Target, synced bool) *saved {
	id := t.Key()
	s := r.saved[id]
	if s == nil {
		s = &saved{key: bucketName(id), first: describe(t)}
		r.saved[id] = s
	}
	if s.about.gvk() == t.Mapping.GroupVersionKind && (s.about.Synced || !synced) {
		return s
	}
	now := describe(t)
	now.Synced = synced || s.about.Synced
	s.about = now
	r.changes = append(r.changes, change{target: s, about: &now})
	return s
}

func (a about) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: a.Group, Version: a.Version, Kind: a.Kind}
}
