package resume

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// File is what was reported, on disk. It is locked until it is closed.
type File struct {
	*store
	path   string
	saved  map[event.Key]*saved
	fresh  bool
	shard  event.Shard
	outbox *Outbox // nil: none
	// digests returns what is kept of an object beside its identity; nil: nothing.
	digests func(event.Object) string
}

// Open opens the file at path, or makes it, for what h says. The error says in one line what is
// wrong with it, and what to do.
func Open(path string, h Header) (*File, error) {
	return openFor(path, func(f *File) error {
		f.shard = h.Selection.Shard
		return f.claim(h)
	})
}

// OpenSeveral is Open for several clusters, each of which has a part that is there once it has joined.
// Parts of others stay as they are.
func OpenMultiCluster(path string) (*File, error) { return openFor(path, (*File).claimSeveral) }

func openFor(path string, claim func(*File) error) (*File, error) {
	f, err := open(path, claim)
	var inPath *fs.PathError
	if errors.As(err, &inPath) {
		err = inPath.Err // the path is said already, and another one would only confuse
	}
	if err != nil {
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
	return f, nil
}

func open(path string, claim func(*File) error) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = create(path)
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is not a regular file: take another one")
	}
	if err != nil {
		return nil, err
	}
	f := &File{path: path}
	if f.store, err = openStore(path, f.check); err != nil {
		return nil, err
	}
	if err := claim(f); err != nil {
		f.store.close()
		return nil, err
	}
	return f, nil
}

// create makes the file in one step: a process that is killed, or a disk that is full, leaves no
// half of one.
func create(path string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	temp.Close()
	defer os.Remove(temp.Name())
	fresh, err := openStore(temp.Name(), func(*bolt.Tx) error { return nil })
	if err != nil {
		return err
	}
	if err := fresh.close(); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil // another process may have been faster; which one gets it, the lock decides
	}
	return os.Rename(temp.Name(), path) // a file system without hard links
}

// check reads all that is in the file, so that nothing is wrong with it later.
func (f *File) check(tx *bolt.Tx) error {
	if _, err := readHeader(tx); err != nil {
		return err
	}
	defer release(tx)
	if err := tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return walk(b) }); err != nil {
		return err
	}
	if damage := damageOf(tx); damage != nil {
		return damaged(damage)
	}
	var err error
	f.saved, err = readSaved(tx)
	f.fresh = len(f.saved) == 0
	return err
}

// releaseEvery is how often what was read is given back while all of the file is.
const releaseEvery = time.Millisecond

// damageOf returns what is wrong with the pages of the file. Check runs in a goroutine of its own,
// in which a fault could not be caught: so it comes after the walk.
func damageOf(tx *bolt.Tx) (damage error) {
	tick := time.NewTicker(releaseEvery)
	defer tick.Stop()
	errs := tx.Check()
	for {
		select {
		case err, more := <-errs:
			if !more {
				return damage
			}
			damage = cmp.Or(damage, err)
		case <-tick.C:
			release(tx)
		}
	}
}

// walk touches each page of b: one that is not what it should be panics.
func walk(b *bolt.Bucket) error {
	return eachKey(b, func(key, value []byte) error {
		if value == nil {
			return walk(b.Bucket(key))
		}
		return nil
	})
}

// claim makes sure that the file is for h, and says so in it.
func (f *File) claim(h Header) error {
	return f.update(func(tx *bolt.Tx) error {
		before, err := readHeader(tx)
		if err != nil {
			return err
		}
		switch {
		case before == nil:
			return h.write(tx)
		case tx.Bucket(clustersBucket) != nil:
			return errors.New("it was made for several clusters, not for one: take another one, or delete it to start over")
		}
		if err := before.check(h); err != nil {
			return err
		}
		h.Cluster = cmp.Or(h.Cluster, before.Cluster) // it is not always known
		if h.Server == before.Server && h.Cluster == before.Cluster && h.Selection.Shard == before.Selection.Shard {
			return nil
		}
		if h.Selection.Shard != before.Selection.Shard {
			if err := part(f, tx); err != nil {
				return err
			}
		}
		return h.write(tx)
	})
}

func (f *File) claimSeveral() error {
	return f.update(func(tx *bolt.Tx) error {
		before, err := readHeader(tx)
		switch {
		case err != nil:
			return err
		case before == nil:
			if _, err := tx.CreateBucket(clustersBucket); err != nil {
				return err
			}
			return Header{}.write(tx)
		case tx.Bucket(clustersBucket) == nil:
			return errors.New("it was made for one cluster, not for several: take another one, or delete it to start over")
		}
		return nil
	})
}

// Join makes sure that the part of a cluster is for h, and says so in it. fresh: there was none. It is
// not called while the Stage delivers.
func (f *File) AddCluster(cluster string, h Header) (fresh bool, err error) {
	err = f.update(func(tx *bolt.Tx) error {
		parts, key := tx.Bucket(clustersBucket), []byte(cluster)
		text := parts.Get(key)
		if fresh = text == nil; !fresh {
			var before Header
			if err := json.Unmarshal(text, &before); err != nil {
				return damaged(err)
			}
			if err := before.check(h); err != nil {
				return err
			}
			h.Cluster = cmp.Or(h.Cluster, before.Cluster)
		}
		now, err := json.Marshal(h)
		if err != nil {
			return err
		}
		return parts.Put(key, now)
	})
	return fresh, f.named(err)
}

// Enter notes in the file in which Term it is used from now on, and returns that in which it was before; zero: in none.
func (f *File) SwapTerm(t Term) (before Term, err error) {
	err = f.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(headerBucket)
		if text := b.Get(termKey); text != nil {
			if err := json.Unmarshal(text, &before); err != nil {
				return damaged(err)
			}
		}
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		return b.Put(termKey, text)
	})
	return before, f.named(err)
}

// Fresh reports whether nothing had been reported when the file was opened.
func (f *File) IsNew() bool { return f.fresh }

// Close unlocks the file, after its Stage is closed. An error says that it was cut or overwritten.
func (f *File) Close() error { return f.named(f.store.close()) }

func (f *File) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state file %s: %w", f.path, err)
}
