package resume

import (
	"bytes"
	"cmp"
	"slices"

	bolt "go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// foreignBucket is the bucket of a target for reported objects that now belong to other shards, by
// UID. Whether they still exist has to be looked up.
var foreignBucket = []byte("foreign")

// ForeignTarget is a target with data of other shards in the file.
type ForeignTarget struct {
	Target event.Target
	// PreviousShard is the shard whose initial objects have all been reported. Resharded is true if
	// the file is now used for another shard.
	PreviousShard event.Shard
	Resharded     bool
	Objects       []event.ReportedObject // that belong to other shards
}

// foreignTargets returns the foreign targets of a file that has just been opened.
func foreignTargets(f *File) (all []ForeignTarget, err error) {
	err = f.view(func(tx *bolt.Tx) error {
		for _, s := range f.targets {
			target := ForeignTarget{Target: s.description.target(), PreviousShard: s.description.Shard, Resharded: s.description.Synced && s.description.Shard != f.shard}
			if target.Objects, err = readForeign(tx.Bucket(targetsBucket).Bucket(s.key)); err != nil {
				return err
			}
			if target.Resharded || len(target.Objects) > 0 {
				all = append(all, target)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b ForeignTarget) int { return cmp.Compare(a.Target.Text(), b.Target.Text()) })
	return all, f.wrapError(err)
}

func readForeign(target *bolt.Bucket) (all []event.ReportedObject, err error) {
	b := target.Bucket(foreignBucket)
	if b == nil {
		return nil, nil
	}
	err = eachKey(b, func(uid, value []byte) error {
		value, unconfirmed := bytes.CutSuffix(value, []byte(unconfirmedMark))
		key, resourceVersion, isForeign := bytes.Cut(value, []byte{0})
		namespace, name, isKey := decodeKey(key)
		if !isForeign || !isKey {
			return damaged("at the foreign " + string(uid))
		}
		all = append(all, event.ReportedObject{Namespace: namespace, Name: name, UID: types.UID(uid), ResourceVersion: string(resourceVersion), Unconfirmed: unconfirmed})
		return nil
	})
	return all, err
}

func putForeign(b *bolt.Bucket, key []byte, s state, unconfirmed bool) error {
	uid, resourceVersion := s.split()
	value := slices.Concat(key, []byte{0}, []byte(resourceVersion))
	if unconfirmed {
		value = append(value, unconfirmedMark...)
	}
	return b.Put([]byte(uid), value)
}

// removeForeign removes foreign objects from the file, which other runs now report.
func removeForeign(f *File, t event.Target, objects []event.ReportedObject) error {
	s := f.targets[t.Key()]
	if s == nil || len(objects) == 0 {
		return nil
	}
	return f.wrapError(f.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(targetsBucket).Bucket(s.key).Bucket(foreignBucket)
		if b == nil {
			return nil
		}
		for _, o := range objects {
			if err := b.Delete([]byte(o.UID)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// repartition moves the objects of other shards to the foreign buckets, and moves back foreign
// objects that belong to the file's shard again, unless a new object has the same name.
func repartition(f *File, tx *bolt.Tx) error {
	targets := tx.Bucket(targetsBucket)
	if targets == nil {
		return nil
	}
	for _, s := range f.targets {
		if err := repartitionTarget(targets.Bucket(s.key), f.shard); err != nil {
			return err
		}
	}
	var err error
	f.targets, err = readTargets(tx)
	return err
}

func repartitionTarget(target *bolt.Bucket, shard event.Shard) error {
	objects, err := target.CreateBucketIfNotExists(objectsBucket)
	if err != nil {
		return err
	}
	foreign, err := target.CreateBucketIfNotExists(foreignBucket)
	if err != nil {
		return err
	}
	parted, err := splitEntries(objects, shard)
	if err != nil {
		return err
	}
	for _, p := range parted {
		if err := p.write(objects, foreign); err != nil {
			return err
		}
	}
	return restoreOwn(target, objects, foreign, shard)
}

// splitEntry is an entry that has states of other shards.
type splitEntry struct {
	key          []byte
	own, foreign []state
	unconfirmed  bool
}

// splitEntries returns the entries that have states of other shards.
func splitEntries(objects *bolt.Bucket, shard event.Shard) (all []splitEntry, err error) {
	err = eachKey(objects, func(key, value []byte) error {
		e, is := decodeEntry(value)
		if !is {
			return damaged("at " + string(key))
		}
		p := splitEntry{key: bytes.Clone(key), unconfirmed: e.unconfirmed}
		for _, s := range e.states {
			if shard.Has(types.UID(s.uid())) {
				p.own = append(p.own, s)
			} else {
				p.foreign = append(p.foreign, s)
			}
		}
		if len(p.foreign) > 0 {
			all = append(all, p)
		}
		return nil
	})
	return all, err
}

func (p *splitEntry) write(objects, foreign *bolt.Bucket) error {
	for _, s := range p.foreign {
		if err := putForeign(foreign, p.key, s, p.unconfirmed); err != nil {
			return err
		}
	}
	if len(p.own) == 0 {
		return objects.Delete(p.key)
	}
	return objects.Put(p.key, entry{unconfirmed: p.unconfirmed, states: p.own}.encode())
}

// restoreOwn moves foreign objects that belong to the shard again back to the objects, unless a new
// object has the same name.
func restoreOwn(target, objects, foreign *bolt.Bucket, shard event.Shard) error {
	back, err := readForeign(target)
	if err != nil {
		return err
	}
	for _, o := range back {
		key := encodeKey(o.Namespace, o.Name)
		if !shard.Has(o.UID) || objects.Get(key) != nil {
			continue
		}
		if err := objects.Put(key, entry{unconfirmed: o.Unconfirmed, states: []state{newState(o.UID, o.ResourceVersion, "")}}.encode()); err != nil {
			return err
		}
		if err := foreign.Delete([]byte(o.UID)); err != nil {
			return err
		}
	}
	return nil
}
