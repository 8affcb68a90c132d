package resume

import (
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// change is one change of the file: a new description of the target, objects that the target takes over, or an event of
// one object.
type change struct {
	target      *savedTarget
	description *description // the new description, or nil
	replaced    *savedTarget // the target whose objects target takes over, or nil
	// If description and replaced are nil, kind is the type of the event of an object, key its key in the file, and state its
	// new or last state.
	kind  event.Type
	key   []byte
	state state
}

// transaction is the content of one transaction.
type transaction struct {
	reported  []change
	announced []change // its ADDED objects are about to be reported
	added     [][]byte // records for the outbox
	removed   []uint64 // numbers of records to remove from the outbox
}

// commit writes all of t or nothing, and syncs it to the disk. It returns the number of the first
// added record. It releases the memory of the pages that it read.
func (f *File) commit(t transaction) (first uint64, err error) {
	err = f.update(func(tx *bolt.Tx) error {
		if first, err = writeOutbox(tx, t.added, t.removed); err != nil {
			return err
		}
		return t.writeTargets(tx)
	})
	if err != nil {
		return 0, err
	}
	return first, f.view(func(tx *bolt.Tx) error {
		release(tx)
		return nil
	})
}

func (t transaction) writeTargets(tx *bolt.Tx) error {
	if len(t.reported)+len(t.announced) == 0 {
		return nil
	}
	targets, err := tx.CreateBucketIfNotExists(targetsBucket)
	if err != nil {
		return err
	}
	p := targetBuckets{targets, map[*savedTarget]*bolt.Bucket{}}
	for i, c := range t.reported {
		releasePeriodically(tx, i)
		if err := p.apply(c, c.reported); err != nil {
			return err
		}
	}
	for i, c := range t.announced {
		releasePeriodically(tx, i)
		if c.kind != event.Added {
			continue
		}
		if err := p.apply(c, c.announced); err != nil {
			return err
		}
	}
	return nil
}

// reported returns the entry after the change has been reported.
func (c change) reported(e entry) entry {
	if c.kind == event.Deleted {
		return e.delete(c.state.uid())
	}
	return entry{states: []state{c.state}}
}

// announced returns the entry before the change is reported, which may or may not happen.
func (c change) announced(e entry) entry { return e.announce(c.state) }

// targetBuckets are the buckets of the targets in one transaction.
type targetBuckets struct {
	targets *bolt.Bucket
	objects map[*savedTarget]*bolt.Bucket
}

func (p targetBuckets) apply(c change, update func(entry) entry) error {
	switch {
	case c.description != nil:
		b, err := p.targets.CreateBucketIfNotExists(c.target.key)
		if err != nil {
			return err
		}
		return put(b, c.description)
	case c.replaced != nil:
		return p.takeOver(c.target, c.replaced)
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
	if e = update(e); len(e.states) == 0 {
		return b.Delete(c.key)
	}
	return b.Put(c.key, e.encode())
}

func (p targetBuckets) takeOver(s, narrow *savedTarget) error {
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

// objectsOf returns the bucket of a target's objects. If the bucket is new, objectsOf also writes
// the target's description, whose change may come only later.
func (p targetBuckets) objectsOf(s *savedTarget) (*bolt.Bucket, error) {
	if b := p.objects[s]; b != nil {
		return b, nil
	}
	target, err := p.targets.CreateBucketIfNotExists(s.key)
	if err != nil {
		return nil, err
	}
	if target.Get(descriptionKey) == nil {
		if err := put(target, &s.initial); err != nil {
			return nil, err
		}
	}
	b, err := target.CreateBucketIfNotExists(objectsBucket)
	if err != nil {
		return nil, err
	}
	b.FillPercent = 0.9 // initially, objects arrive in the order of their keys
	p.objects[s] = b
	return b, nil
}

func put(target *bolt.Bucket, a *description) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return target.Put(descriptionKey, text)
}

// changesOf appends the changes that batch causes.
func (f *File) changesOf(dst []change, batch []event.Event) []change {
	for i := range batch {
		e := &batch[i]
		switch {
		case e.Type == event.Arrived:
			dst = f.takeOver(dst, e.Target)
		case e.Type == event.Synced:
			dst, _ = f.target(dst, e.Target, true)
		case !e.Type.IsStatus():
			var t *savedTarget
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

// target returns t in the file, and appends a change to dst if its description has changed.
func (f *File) target(dst []change, t event.Target, synced bool) ([]change, *savedTarget) {
	s := f.savedFor(t)
	now := describe(t)
	now.Synced, now.Shard = synced || s.description.Synced, s.description.Shard
	if synced {
		now.Shard = f.shard
	}
	if now == s.description {
		return dst, s
	}
	s.description = now
	return append(dst, change{target: s, description: &now}), s
}

func (f *File) savedFor(t event.Target) *savedTarget {
	id := t.Key()
	s := f.targets[id]
	if s == nil {
		s = &savedTarget{key: bucketName(id), initial: describe(t)}
		f.targets[id] = s
	}
	return s
}

// takeOver removes the targets that t covers from f, and appends changes that give their objects to
// t.
func (f *File) takeOver(dst []change, t event.Target) []change {
	for key, narrow := range f.targets {
		if t.Key().Covers(key) {
			delete(f.targets, key)
			dst = append(dst, change{target: f.savedFor(t), replaced: narrow})
		}
	}
	return dst
}
