package resume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// lockTimeout is how long another process may take to unlock the file.
const lockTimeout = 500 * time.Millisecond

// ErrInUse: the file is locked.
var ErrInUse = errors.New("another dwatch is using it: end that one, or take another file")

// store is the database in the file. If somebody cuts or overwrites that, the database, which maps
// it into memory, faults or panics, and keeps its locks. So each transaction has a goroutine of its
// own: once one has failed in that way, nobody waits for any.
type store struct {
	db   *bolt.DB
	file *os.File

	intact context.Context // ends with why the file is not what the database made of it
	spoil  context.CancelCauseFunc
	using  sync.WaitGroup // transactions
}

func openStore(path string, check func(*bolt.Tx) error) (*store, error) {
	s := &store{}
	s.intact, s.spoil = context.WithCancelCause(context.Background())
	fault, err := guarded(func() (err error) {
		s.db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:      lockTimeout,
			FreelistType: bolt.FreelistMapType,
			NoStatistics: true,
			OpenFile: func(path string, flag int, mode os.FileMode) (file *os.File, err error) {
				if file, err = os.OpenFile(path, flag, mode); s.file == nil {
					s.file = file // else it is for a copy
				}
				return file, err
			},
		})
		if err != nil {
			return explain(err)
		}
		return s.db.View(func(tx *bolt.Tx) error {
			if err := s.checkSize(tx); err != nil {
				return damaged(err)
			}
			return check(tx)
		})
	})
	switch {
	case fault != nil:
		s.file.Close() // and with it the lock
		return nil, damaged(fault)
	case err != nil && s.db != nil:
		s.db.Close()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// guarded calls do. What is wrong with a damaged file may show as a panic, or as a fault of the
// mapped memory: that is fault then.
func guarded(do func() error) (fault any, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		fault = recover()
		if _, isFault := fault.(interface{ Addr() uintptr }); isFault {
			fault = "a part of it is not there"
		}
	}()
	return nil, do()
}

func explain(err error) error {
	var system syscall.Errno
	switch {
	case errors.As(err, &system):
		return err
	case errors.Is(err, berrors.ErrTimeout):
		return ErrInUse
	case errors.Is(err, berrors.ErrChecksum):
		return damaged(err)
	default:
		return errForeign
	}
}

func damaged(why any) error {
	return fmt.Errorf("it is damaged (%v): delete it to start over", why)
}

// update runs a transaction that writes: all of it, or nothing.
func (s *store) update(do func(*bolt.Tx) error) error {
	return s.run(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			if err := s.checkIntact(tx); err != nil { // what is written would only hide that
				return err
			}
			return do(tx)
		})
	})
}

func (s *store) view(do func(*bolt.Tx) error) error {
	return s.run(func() error { return s.db.View(do) })
}

func (s *store) run(transaction func() error) error {
	if s.intact.Err() != nil {
		return context.Cause(s.intact)
	}
	done := make(chan error, 1)
	s.using.Go(func() {
		fault, err := guarded(transaction)
		if fault != nil {
			s.spoilt(fault)
			err = context.Cause(s.intact)
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-s.intact.Done():
		return context.Cause(s.intact)
	}
}

func (s *store) spoilt(why any) {
	s.spoil(fmt.Errorf("it was cut or overwritten while dwatch was using it (%v): delete it to start over", why))
}

func (s *store) checkSize(tx *bolt.Tx) error {
	info, err := s.file.Stat()
	if err == nil && tx.Size() > info.Size() {
		err = fmt.Errorf("%d of %d bytes are there", info.Size(), tx.Size())
	}
	return err
}

// checkIntact returns an error if the file was cut, and nobody uses it any more then.
func (s *store) checkIntact(tx *bolt.Tx) error {
	err := s.checkSize(tx)
	if err != nil {
		s.spoilt(err)
	}
	return err
}

// Intact returns an error if the file was cut or overwritten, as far as a quick look tells.
func (s *store) CheckIntegrity() error { return s.view(s.checkIntact) }

// close unlocks the file, after a last look at it. One that is not intact is unlocked when no transaction
// uses it any more, and nobody waits for that: what the database has locked may never be free.
func (s *store) close() error {
	err := s.CheckIntegrity()
	if s.intact.Err() != nil {
		go func() {
			s.using.Wait()
			s.file.Close() // and with it the lock
		}()
		return context.Cause(s.intact)
	}
	return cmp.Or(err, s.run(s.db.Close))
}

// releaseKeys is after how many keys what was read is given back: 64 KB may have come with each.
const releaseKeys = 64

// releaseNow and then gives back what was read, with the n-th key from 0.
func releaseNow(tx *bolt.Tx, n int) {
	if n%releaseKeys == releaseKeys-1 {
		release(tx)
	}
}

// eachKey calls do with each key of a bucket, and gives back what was read.
func eachKey(b *bolt.Bucket, do func(key, value []byte) error) error {
	defer release(b.Tx())
	n := 0
	return b.ForEach(func(key, value []byte) error {
		releaseNow(b.Tx(), n)
		n++
		return do(key, value)
	})
}
