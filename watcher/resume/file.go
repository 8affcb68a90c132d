package resume

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"dwatch/watcher/event"
)

// lockTimeout is how long another process may take to unlock the file.
const lockTimeout = 500 * time.Millisecond

// damaged says why the file can't be trusted.
func damaged(why any) error {
	return fmt.Errorf("it is damaged (%v): delete it to start over", why)
}

// File is what was reported, on disk. It is locked until it is closed.
type File struct {
	db     *bolt.DB
	path   string
	saved  map[event.Key]*saved
	fresh  bool
	outbox *Outbox // nil: none
}

// Open opens the file at path, or makes it, for what h says. The error says in
// one line what is wrong with the file, and what to do.
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
		err = create(path, h)
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is not a regular file: take another one")
	}
	if err != nil {
		return nil, err
	}
	f := &File{path: path}
	if f.db, err = openStore(path, f.check); err != nil {
		return nil, err
	}
	if err := f.claim(h); err != nil {
		f.db.Close()
		return nil, err
	}
	return f, nil
}

// create makes the file in one step: a process that is killed meanwhile leaves
// no half of one.
func create(path string, h Header) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	temp.Close()
	defer os.Remove(temp.Name())
	db, err := openStore(temp.Name(), func(*bolt.Tx) error { return nil })
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(h.write), db.Close()); err != nil {
		return err
	}
	err = os.Link(temp.Name(), path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // another process was faster; which one gets it, the lock decides
	case err != nil:
		return os.Rename(temp.Name(), path) // a file system without hard links
	}
	return nil
}

// openStore opens and locks the database, and checks it. What is wrong with a
// damaged one may show as a panic, or as a fault of the mapped memory.
func openStore(path string, check func(*bolt.Tx) error) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var file *os.File
	defer func() {
		if p := recover(); p != nil {
			file.Close() // and with it the lock
			db, err = nil, damaged(p)
		}
	}()
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
		OpenFile: func(path string, flag int, mode os.FileMode) (*os.File, error) {
			file, err = os.OpenFile(path, flag, mode)
			return file, err
		},
	})
	if err != nil {
		return nil, explain(err)
	}
	if err := db.View(check); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// explain says in the words of dwatch why the database does not open.
func explain(err error) error {
	var system syscall.Errno
	switch {
	case errors.As(err, &system):
		return err
	case errors.Is(err, berrors.ErrTimeout):
		return errors.New("another dwatch is using it: end that one, or take another file")
	case errors.Is(err, berrors.ErrChecksum):
		return damaged(err)
	default:
		return errForeign
	}
}

// check reads all that is in the file, so that nothing is wrong with it later.
func (f *File) check(tx *bolt.Tx) error {
	if info, err := os.Stat(f.path); err != nil {
		return err
	} else if tx.Size() > info.Size() {
		return damaged(fmt.Sprintf("%d of %d bytes are there", info.Size(), tx.Size()))
	}
	if _, err := readHeader(tx); err != nil {
		return err
	}
	defer release(tx.DB(), tx)
	if err := tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return walk(b) }); err != nil {
		return err
	}
	if damage := f.damage(tx); damage != nil {
		return damaged(damage)
	}
	var err error
	f.saved, err = readSaved(tx)
	f.fresh = len(f.saved) == 0
	return err
}

// releaseEvery is how often what was read is given back while all of the file is.
const releaseEvery = time.Millisecond

// damage returns what is wrong with the pages of the file. Check runs in a goroutine of
// its own, in which a fault could not be caught: it comes after the walk, and has to be
// received to its end.
func (f *File) damage(tx *bolt.Tx) (damage error) {
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
			release(tx.DB(), tx)
		}
	}
}

// releaseKeys is after how many keys what was read is given back: of each, 64 KB may have
// come with it.
const releaseKeys = 64

// walk touches each page of b: one that is not what it should be panics.
func walk(b *bolt.Bucket) error {
	n := 0
	return b.ForEach(func(key, value []byte) error {
		if n++; n%releaseKeys == 0 {
			release(b.Tx().DB(), b.Tx())
		}
		if value == nil {
			return walk(b.Bucket(key))
		}
		return nil
	})
}

// claim makes sure that the file is for h.
func (f *File) claim(h Header) error {
	return f.db.Update(func(tx *bolt.Tx) error {
		before, err := readHeader(tx)
		if err != nil {
			return err
		}
		if before != nil {
			if err := before.check(h); err != nil {
				return err
			}
			changed := false
			if h, changed = before.merge(h); !changed {
				return nil
			}
		}
		return h.write(tx)
	})
}

// Fresh reports whether nothing had been reported when the file was opened.
func (f *File) Fresh() bool { return f.fresh }

// Close unlocks the file. Its Stage is to be closed before.
func (f *File) Close() error { return f.db.Close() }
