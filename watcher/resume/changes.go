package resume

import "dwatch/watcher/event"

// changesOf appends what batch changes in the file.
func (f *File) changesOf(dst []change, batch []event.Event) []change {
	for i := range batch {
		e := &batch[i]
		switch {
		case e.Type == event.Arrived:
			dst = f.takeOver(dst, e.Target)
		case e.Type == event.Synced:
			dst, _ = f.target(dst, e.Target, true)
		case !e.Type.IsMark():
			var t *saved
			dst, t = f.target(dst, e.Target, false)
			dst = append(dst, change{
				target: t,
				kind:   e.Type,
				key:    encodeKey(e.Object.Namespace, e.Object.Name),
				state:  newState(e.Object.UID, e.Object.ResourceVersion),
			})
		}
	}
	return dst
}

// target returns the target in the file, after what is new about it.
func (f *File) target(dst []change, t event.Target, synced bool) ([]change, *saved) {
	s := f.savedOf(t)
	now := describe(t)
	now.Synced = synced || s.about.Synced
	if now == s.about {
		return dst, s
	}
	s.about = now
	return append(dst, change{target: s, about: &now}), s
}

// savedOf returns the target as the file has it, or will have it.
func (f *File) savedOf(t event.Target) *saved {
	id := t.Key()
	s := f.saved[id]
	if s == nil {
		s = &saved{key: bucketName(id), first: describe(t)}
		f.saved[id] = s
	}
	return s
}

// takeOver appends that what was reported of targets that t covers was reported of t.
// Those leave the file.
func (f *File) takeOver(dst []change, t event.Target) []change {
	for key, narrow := range f.saved {
		if t.Key().Covers(key) {
			delete(f.saved, key)
			dst = append(dst, change{target: f.savedOf(t), narrow: narrow})
		}
	}
	return dst
}
