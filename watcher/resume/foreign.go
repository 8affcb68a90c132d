package resume

import (
	"bytes"
	"cmp"
	"slices"

	bolt "go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// foreignBucket has, in a target, what was reported of objects that are of other shards now, by their UIDs: it is
// not known yet what became of them.
var foreignBucket = []byte("foreign")

// Foreign is what a file has of a target that was not written for this shard, or not all of it.
type ForeignTarget struct {
	Target event.Target
	// Was is the shard of which all that existed at the start has been reported; Resharded: that is another one.
	PreviousShard event.Shard
	Resharded     bool
	Objects       []event.ReportedObject // that are of other shards
}

// foreignIn returns what there is when the file is opened.
func foreignIn(f *File) (all []ForeignTarget, err error) {
	err = f.view(func(tx *bolt.Tx) error {
		for _, s := range f.saved {
			of := ForeignTarget{Target: s.about.target(), PreviousShard: s.about.Shard, Resharded: s.about.Synced && s.about.Shard != f.shard}
			if of.Objects, err = foreignOf(tx.Bucket(targetsBucket).Bucket(s.key)); err != nil {
				return err
			}
			if of.Resharded || len(of.Objects) > 0 {
				all = append(all, of)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b ForeignTarget) int { return cmp.Compare(a.Target.Text(), b.Target.Text()) })
	return all, f.named(err)
}

func foreignOf(target *bolt.Bucket) (all []event.ReportedObject, err error) {
	b := target.Bucket(foreignBucket)
	if b == nil {
		return nil, nil
	}
	err = eachKey(b, func(uid, value []byte) error {
		value, unsure := bytes.CutSuffix(value, []byte(unsureMark))
		key, resourceVersion, isForeign := bytes.Cut(value, []byte{0})
		namespace, name, isKey := decodeKey(key)
		if !isForeign || !isKey {
			return damaged("at the foreign " + string(uid))
		}
		all = append(all, event.ReportedObject{Namespace: namespace, Name: name, UID: types.UID(uid), ResourceVersion: string(resourceVersion), Unconfirmed: unsure})
		return nil
	})
	return all, err
}

func putForeign(b *bolt.Bucket, key []byte, s state, unsure bool) error {
	uid, resourceVersion := s.split()
	value := slices.Concat(key, []byte{0}, []byte(resourceVersion))
	if unsure {
		value = append(value, unsureMark...)
	}
	return b.Put([]byte(uid), value)
}

// forget takes objects of other shards out of the file, of which somebody else reports.
func forget(f *File, t event.Target, objects []event.ReportedObject) error {
	s := f.saved[t.Key()]
	if s == nil || len(objects) == 0 {
		return nil
	}
	return f.named(f.update(func(tx *bolt.Tx) error {
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

// part puts aside what is not of the shard, of each target; and takes back what has come to be of it again, unless
// something else has taken its name meanwhile.
func part(f *File, tx *bolt.Tx) error {
	targets := tx.Bucket(targetsBucket)
	if targets == nil {
		return nil
	}
	for _, s := range f.saved {
		if err := partTarget(targets.Bucket(s.key), f.shard); err != nil {
			return err
		}
	}
	var err error
	f.saved, err = readSaved(tx)
	return err
}

func partTarget(target *bolt.Bucket, shard event.Shard) error {
	objects, err := target.CreateBucketIfNotExists(objectsBucket)
	if err != nil {
		return err
	}
	foreign, err := target.CreateBucketIfNotExists(foreignBucket)
	if err != nil {
		return err
	}
	parted, err := partedBy(objects, shard)
	if err != nil {
		return err
	}
	for _, p := range parted {
		if err := p.write(objects, foreign); err != nil {
			return err
		}
	}
	return takeBack(target, objects, foreign, shard)
}

// parted are the states of one name, of which some are of other shards.
type parted struct {
	key         []byte
	stays, goes []state
	unsure      bool
}

// partedBy returns what is not of the shard alone.
func partedBy(objects *bolt.Bucket, shard event.Shard) (all []parted, err error) {
	err = eachKey(objects, func(key, value []byte) error {
		e, is := decodeEntry(value)
		if !is {
			return damaged("at " + string(key))
		}
		p := parted{key: bytes.Clone(key), unsure: e.unsure}
		for _, s := range e.states {
			if shard.Has(types.UID(s.uid())) {
				p.stays = append(p.stays, s)
			} else {
				p.goes = append(p.goes, s)
			}
		}
		if len(p.goes) > 0 {
			all = append(all, p)
		}
		return nil
	})
	return all, err
}

func (p *parted) write(objects, foreign *bolt.Bucket) error {
	for _, s := range p.goes {
		if err := putForeign(foreign, p.key, s, p.unsure); err != nil {
			return err
		}
	}
	if len(p.stays) == 0 {
		return objects.Delete(p.key)
	}
	return objects.Put(p.key, entry{unsure: p.unsure, states: p.stays}.encode())
}

// takeBack has what was put aside, and is of the shard again, be with the others, unless something else has its name now.
func takeBack(target, objects, foreign *bolt.Bucket, shard event.Shard) error {
	back, err := foreignOf(target)
	if err != nil {
		return err
	}
	for _, o := range back {
		key := encodeKey(o.Namespace, o.Name)
		if !shard.Has(o.UID) || objects.Get(key) != nil {
			continue
		}
		if err := objects.Put(key, entry{unsure: o.Unconfirmed, states: []state{newState(o.UID, o.ResourceVersion, "")}}.encode()); err != nil {
			return err
		}
		if err := foreign.Delete([]byte(o.UID)); err != nil {
			return err
		}
	}
	return nil
}
