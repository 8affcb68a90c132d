package resume

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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
	// digests returns what is kept of an object beside its identity; nil: nothing.
	digests func(event.Object) string
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
	if err := f.claim(h); err != nil {
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

// Header says what a file is for. What it recorded holds only there.
type Header struct {
	Server string `json:"server"` // the address
	// Cluster identifies the cluster, wherever its server is; empty if that is not known.
	Cluster   string          `json:"cluster,omitempty"`
	Selection event.Selection `json:"selection"`
}

// format is the version of what is in the file. In format 1 the selection was a sentence. A dwatch
// that does not know of an outbox must not take a file with one.
const (
	format       = 2
	formatOutbox = 3 // as 2, with an outbox
	// formatDigests is as either, and states may have digests.
	formatDigests = 4
)

var (
	headerBucket  = []byte("dwatch")
	targetsBucket = []byte("targets")
	formatKey     = []byte("format")
	headerKey     = []byte("header")
	digestsKey    = []byte("digests") // of the digests; there from the first one on
)

var errForeign = errors.New("it is not a state file of dwatch: take another one")

// readHeader returns nil where nothing has been written yet.
func readHeader(tx *bolt.Tx) (*Header, error) {
	b := tx.Bucket(headerBucket)
	if b == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return nil, errForeign
		}
		return nil, nil
	}
	version, err := strconv.Atoi(string(b.Get(formatKey)))
	switch {
	case err != nil:
		return nil, errForeign
	case version > formatDigests:
		return nil, fmt.Errorf("it was written by a newer dwatch, in format %d, and this one knows %d: use that dwatch, or another file", version, formatDigests)
	case version < format:
		return nil, fmt.Errorf("it was written by an older dwatch, in format %d, which this one can't go on with: use that dwatch, or delete the file to start over", version)
	}
	h := &Header{}
	if err := json.Unmarshal(b.Get(headerKey), h); err != nil {
		return nil, damaged(err)
	}
	return h, nil
}

func (h Header) write(tx *bolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists(headerBucket)
	if err != nil {
		return err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return errors.Join(writeFormat(tx), b.Put(headerKey, text))
}

func writeFormat(tx *bolt.Tx) error {
	version := format
	switch {
	case tx.Bucket(headerBucket).Get(digestsKey) != nil:
		version = formatDigests
	case tx.Bucket(outboxBucket) != nil:
		version = formatOutbox
	}
	return tx.Bucket(headerBucket).Put(formatKey, []byte(strconv.Itoa(version)))
}

// check returns why a file that was made for h can't be used for now. The address of a cluster
// that is known to be the same one may change.
func (h Header) check(now Header) error {
	known := h.Cluster != "" && now.Cluster != ""
	switch {
	case known && h.Cluster != now.Cluster:
		return fmt.Errorf("it was made for another cluster (at %s) than the one at %s: take another one, or delete it to start over", h.Server, now.Server)
	case !known && h.Server != now.Server:
		return fmt.Errorf("it was made for the server %s, not for %s (to know a cluster at another address, dwatch needs the right to get the namespace kube-system): take another one, or delete it to start over", h.Server, now.Server)
	case !h.Selection.Equal(now.Selection):
		return fmt.Errorf("it was made for %s, not for %s: take another one, or delete it to start over", h.Selection, now.Selection)
	}
	return nil
}
