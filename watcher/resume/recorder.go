package resume

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher"
)

// maxUnflushed is how many events are emitted before a stream that never pauses
// is flushed.
const maxUnflushed = 1024

// Recorder is a stage of the stream: it records what has been told once that has
// left the process. Emit and Flush are called from one goroutine.
type Recorder struct {
	next      func(watcher.Event) error
	flush     func() error
	saved     map[identity]*saved
	unflushed []change
	writer    *writer
}

// Record returns a stage that hands each event to next. flush writes out what
// next has kept back; when it returns, the events before are told. failed is
// called, once and from another goroutine, when the file can't be written.
func (f *File) Record(next func(watcher.Event) error, flush func() error, failed func(error)) *Recorder {
	return &Recorder{next: next, flush: flush, saved: f.saved, writer: startWriter(f, failed)}
}

// Emit hands e on. It may flush.
func (r *Recorder) Emit(e watcher.Event) error {
	if err := r.next(e); err != nil {
		return err
	}
	r.note(e)
	if len(r.unflushed) < maxUnflushed {
		return nil
	}
	return r.Flush()
}

// Flush writes out what has been emitted, and has it recorded. It waits for the
// disk only if that is far behind. After an error nothing more is recorded.
func (r *Recorder) Flush() error {
	if err := r.flush(); err != nil {
		return err
	}
	if len(r.unflushed) == 0 {
		return r.writer.failure()
	}
	err := r.writer.put(r.unflushed)
	clear(r.unflushed)
	r.unflushed = r.unflushed[:0]
	return err
}

// Close returns when all that was flushed is on disk, or the error why it is not.
func (r *Recorder) Close() error { return r.writer.close() }

// note adds what e tells to what is to be recorded.
func (r *Recorder) note(e watcher.Event) {
	switch {
	case e.Type == watcher.Synced:
		r.target(e.Target, true)
	case e.Type.IsMark():
	case e.Type == watcher.Deleted:
		r.add(change{target: r.target(e.Target, false), key: encodeKey(e.Object.Namespace(), e.Object.Name())})
	default:
		r.add(change{
			target: r.target(e.Target, false),
			key:    encodeKey(e.Object.Namespace(), e.Object.Name()),
			value:  encodeValue(e.Object.UID(), e.Object.ResourceVersion()),
		})
	}
}

func (r *Recorder) add(c change) { r.unflushed = append(r.unflushed, c) }

// target returns the target in the file, and has written what is new about it.
func (r *Recorder) target(t watcher.Target, synced bool) *saved {
	id := identify(t)
	s := r.saved[id]
	if s == nil {
		s = &saved{key: id.key()}
		r.saved[id] = s
	}
	if s.about.gvk() == t.Mapping.GroupVersionKind && (s.about.Synced || !synced) {
		return s
	}
	now := describe(t)
	now.Synced = synced || s.about.Synced
	s.about = now
	r.add(change{target: s, about: &now})
	return s
}

func (a about) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: a.Group, Version: a.Version, Kind: a.Kind}
}
