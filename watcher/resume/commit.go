package resume

import (
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// change is one step of what the file holds.
type change struct {
	target *saved
	about  *about // of the target itself,
	narrow *saved // or of a target whose objects become those of this one; else of an object:
	kind   event.Type
	key    []byte
	state  state
}

// commitment is what one transaction writes.
type commitment struct {
	reported  []change
	announced []change // what is ADDED in it is about to be reported
	entered   [][]byte // records that come into the outbox
	left      []uint64 // those that leave it
}

// commit writes all of c or nothing, and syncs it to the disk. It returns the number of the first
// record that has entered, and gives back the memory of the pages that it read.
func (f *File) commit(c commitment) (first uint64, err error) {
	err = f.update(func(tx *bolt.Tx) error {
		if first, err = writeOutbox(tx, c.entered, c.left); err != nil {
			return err
		}
		return c.writeTargets(tx)
	})
	if err != nil {
		return 0, err
	}
	return first, f.view(func(tx *bolt.Tx) error {
		release(tx)
		return nil
	})
}

func (c commitment) writeTargets(tx *bolt.Tx) error {
	if len(c.reported)+len(c.announced) == 0 {
		return nil
	}
	targets, err := tx.CreateBucketIfNotExists(targetsBucket)
	if err != nil {
		return err
	}
	p := pages{targets, map[*saved]*bolt.Bucket{}}
	for i, c := range c.reported {
		releaseNow(tx, i)
		if err := p.apply(c, c.reported); err != nil {
			return err
		}
	}
	for i, c := range c.announced {
		releaseNow(tx, i)
		if c.kind != event.Added {
			continue
		}
		if err := p.apply(c, c.announced); err != nil {
			return err
		}
	}
	return nil
}

// reported is what becomes of e when the change has been reported.
func (c change) reported(e entry) entry {
	if c.kind == event.Deleted {
		return e.delete(c.state.uid())
	}
	return entry{states: []state{c.state}}
}

func (c change) announced(e entry) entry { return e.announce(c.state) }

// pages are the targets in one transaction.
type pages struct {
	targets *bolt.Bucket
	objects map[*saved]*bolt.Bucket
}

func (p pages) apply(c change, become func(entry) entry) error {
	switch {
	case c.about != nil:
		b, err := p.targets.CreateBucketIfNotExists(c.target.key)
		if err != nil {
			return err
		}
		return put(b, c.about)
	case c.narrow != nil:
		return p.takeOver(c.target, c.narrow)
	}
	b, err := p.objectsOf(c.target)
	if err != nil {
		return err
	}
	if foreign := p.targets.Bucket(c.target.key).Bucket(foreignBucket); foreign != nil && c.kind == event.Deleted {
		if err := foreign.Delete([]byte(c.state.uid())); err != nil {
			return err
		}
	}
	e, ok := decodeEntry(b.Get(c.key))
	if !ok {
		return damaged(fmt.Sprintf("at %q", c.key))
	}
	if e = become(e); len(e.states) == 0 {
		return b.Delete(c.key)
	}
	return b.Put(c.key, e.encode())
}

func (p pages) takeOver(s, narrow *saved) error {
	from, err := p.objectsOf(narrow)
	if err != nil {
		return err
	}
	to, err := p.objectsOf(s)
	if err != nil {
		return err
	}
	if err := from.ForEach(func(key, value []byte) error {
		older, isOlder := decodeEntry(value)
		e, isEntry := decodeEntry(to.Get(key))
		if !isOlder || !isEntry {
			return damaged(fmt.Sprintf("at %q", key))
		}
		return to.Put(key, e.takeOver(older).encode())
	}); err != nil {
		return err
	}
	delete(p.objects, narrow)
	return p.targets.DeleteBucket(narrow.key)
}

// objectsOf is the bucket of the target's objects. A new one comes with the description of its
// target, which may be due only later.
func (p pages) objectsOf(s *saved) (*bolt.Bucket, error) {
	if b := p.objects[s]; b != nil {
		return b, nil
	}
	target, err := p.targets.CreateBucketIfNotExists(s.key)
	if err != nil {
		return nil, err
	}
	if target.Get(aboutKey) == nil {
		if err := put(target, &s.first); err != nil {
			return nil, err
		}
	}
	b, err := target.CreateBucketIfNotExists(objectsBucket)
	if err != nil {
		return nil, err
	}
	b.FillPercent = 0.9 // they come in the order of their keys, at first
	p.objects[s] = b
	return b, nil
}

func put(target *bolt.Bucket, a *about) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return target.Put(aboutKey, text)
}

func (f *File) changesOf(dst []change, batch []event.Event) []change {
	for i := range batch {
		e := &batch[i]
		switch {
		case e.Type == event.Arrived:
			dst = f.takeOver(dst, e.Target)
		case e.Type == event.Synced:
			dst, _ = f.target(dst, e.Target, true)
		case !e.Type.IsStatus():
			var t *saved
			dst, t = f.target(dst, e.Target, false)
			dst = append(dst, change{
				target: t,
				kind:   e.Type,
				key:    encodeKey(e.Object.Namespace, e.Object.Name),
				state:  newState(e.Object.UID, e.Object.ResourceVersion, f.digestsOf(e)),
			})
		}
	}
	return dst
}

// target returns the target in the file, after what is new about it.
func (f *File) target(dst []change, t event.Target, synced bool) ([]change, *saved) {
	s := f.savedOf(t)
	now := describe(t)
	now.Synced, now.Shard = synced || s.about.Synced, s.about.Shard
	if synced {
		now.Shard = f.shard
	}
	if now == s.about {
		return dst, s
	}
	s.about = now
	return append(dst, change{target: s, about: &now}), s
}

func (f *File) savedOf(t event.Target) *saved {
	id := t.Key()
	s := f.saved[id]
	if s == nil {
		s = &saved{key: bucketName(id), first: describe(t)}
		f.saved[id] = s
	}
	return s
}

// takeOver appends that what was reported of targets that t covers, which leave the file, was
// reported of t.
func (f *File) takeOver(dst []change, t event.Target) []change {
	for key, narrow := range f.saved {
		if t.Key().Covers(key) {
			delete(f.saved, key)
			dst = append(dst, change{target: f.savedOf(t), narrow: narrow})
		}
	}
	return dst
}
