package resume

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	outbox *Outbox // nil: none
}

// Open opens the file at path, or makes it, for what h says. The error says in one line what is
// wrong with it, and what to do.
func Open(path string, h Header) (*File, error) {
	f, err := open(path, h)
	var inPath *fs.PathError
	if errors.As(err, &inPath) {
		err = inPath.Err // the path is said already, and another one would only confuse
	}
	if err != nil {
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
	return f, nil
}

func open(path string, h Header) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file: take another one")
	}
	f := &File{path: path}
	var err error
	if f.store, err = openStore(path, f.check); err != nil {
		return nil, err
	}
	if err := f.claim(h); err != nil {
		f.store.close()
		return nil, err
	}
	return f, nil
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
		if before == nil {
			return h.write(tx)
		}
		if err := before.check(h); err != nil {
			return err
		}
		h.Cluster = cmp.Or(h.Cluster, before.Cluster) // it is not always known
		if h.Server == before.Server && h.Cluster == before.Cluster {
			return nil
		}
		return h.write(tx)
	})
}

// Fresh reports whether nothing had been reported when the file was opened.
func (f *File) Fresh() bool { return f.fresh }

// Close unlocks the file, after its Stage is closed. An error says that it was cut or overwritten.
func (f *File) Close() error { return f.named(f.store.close()) }

func (f *File) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state file %s: %w", f.path, err)
}
