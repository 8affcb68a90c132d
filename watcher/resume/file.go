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

// File records on disk what was reported. It is locked until it is closed.
type File struct {
	*store
	path    string
	targets map[event.Key]*savedTarget
	isNew   bool
	shard   event.Shard
	outbox  *Outbox // nil if there is no receiver
	// digests returns the digest of an object. nil disables digests.
	digests func(event.Object) string
}

// Open opens or creates the file at path for the request that h describes. The error is one line
// that says what is wrong with the file and what to do.
func Open(path string, h Header) (*File, error) {
	return openFor(path, func(f *File) error {
		f.shard = h.Selection.Shard
		return f.claim(h)
	})
}

// OpenMultiCluster opens or creates a file for several clusters. AddCluster adds them. Data of
// clusters that are not added remains unchanged.
func OpenMultiCluster(path string) (*File, error) { return openFor(path, (*File).claimMultiCluster) }

func openFor(path string, claim func(*File) error) (*File, error) {
	f, err := open(path, claim)
	var inPath *fs.PathError
	if errors.As(err, &inPath) {
		err = inPath.Err // the message already has the path
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
		err = errors.New("it is not a regular file: use another file")
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

// create creates the file in one step, so that a killed process or a full disk leaves no incomplete
// file at path. A killed process may leave a temporary file in the same directory.
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
		return nil // if another process was faster, the lock decides which one can use it
	}
	return os.Rename(temp.Name(), path) // for file systems without hard links
}

// check reads the structure of the whole file and decodes the targets, so that damage there is
// detected now. It does not check other values, such as the records of the outbox.
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
	f.targets, err = readTargets(tx)
	f.isNew = len(f.targets) == 0
	return err
}

// releaseInterval is the time between releases of memory while tx.Check reads the file.
const releaseInterval = time.Millisecond

// damageOf returns the first inconsistency of the file's pages, or nil. tx.Check runs in its own
// goroutine, whose faults can't be caught, so damageOf must be called after walk.
func damageOf(tx *bolt.Tx) (damage error) {
	tick := time.NewTicker(releaseInterval)
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

// walk visits each key of b and of the buckets in it, but does not read values. A page with a damaged
// structure causes a panic or a fault.
func walk(b *bolt.Bucket) error {
	return eachKey(b, func(key, value []byte) error {
		if value == nil {
			return walk(b.Bucket(key))
		}
		return nil
	})
}

// claim returns an error if the file was created for something else than h, and otherwise writes h.
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
			return errors.New("it was made for several clusters, not for one: use another file, or delete it to start over")
		}
		if err := before.check(h); err != nil {
			return err
		}
		h.Cluster = cmp.Or(h.Cluster, before.Cluster) // h may not know it
		if h.Server == before.Server && h.Cluster == before.Cluster && h.Selection.Shard == before.Selection.Shard {
			return nil
		}
		if h.Selection.Shard != before.Selection.Shard {
			if err := repartition(f, tx); err != nil {
				return err
			}
		}
		return h.write(tx)
	})
}

func (f *File) claimMultiCluster() error {
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
			return errors.New("it was made for one cluster, not for several: use another file, or delete it to start over")
		}
		return nil
	})
}

// AddCluster adds a cluster to a file for several, or returns an error if the file has data of
// another cluster under this name. isNew is true if the cluster had not been added before, whether
// or not the file has data of other clusters. AddCluster must not be called during Deliver.
func (f *File) AddCluster(cluster string, h Header) (isNew bool, err error) {
	err = f.update(func(tx *bolt.Tx) error {
		clusters, key := tx.Bucket(clustersBucket), []byte(cluster)
		last := clusters.Get(key)
		if isNew = last == nil; !isNew {
			var before Header
			if err := json.Unmarshal(last, &before); err != nil {
				return damaged(err)
			}
			if err := before.check(h); err != nil {
				return err
			}
			h.Cluster = cmp.Or(h.Cluster, before.Cluster)
		}
		text, err := json.Marshal(h)
		if err != nil {
			return err
		}
		return clusters.Put(key, text)
	})
	return isNew, f.wrapError(err)
}

// SwapTerm records the term in which the file is used from now on, and returns the previous one, or
// a zero Term.
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
	return before, f.wrapError(err)
}

// IsNew reports whether nothing had been reported when the file was opened.
func (f *File) IsNew() bool { return f.isNew }

// Close unlocks the file. Close the Stage first. An error usually means that the file was truncated
// or overwritten.
func (f *File) Close() error { return f.wrapError(f.store.close()) }

func (f *File) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state file %s: %w", f.path, err)
}
