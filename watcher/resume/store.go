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

// lockTimeout is how long Open waits for another process to unlock the file.
const lockTimeout = 500 * time.Millisecond

// ErrInUse means that another process has locked the file.
var ErrInUse = errors.New("another dwatch is using it: end that process, or use another file")

// store is the database in the file. If another process truncates or overwrites the file, which is
// mapped into memory, the database faults or panics and never releases its locks. Therefore, each
// transaction runs in its own goroutine. After one has failed like that, nothing waits for any of
// them.
type store struct {
	db   *bolt.DB
	file *os.File

	intact       context.Context // ends when the file is found to be truncated or overwritten
	invalidate   context.CancelCauseFunc
	transactions sync.WaitGroup
}

func openStore(path string, check func(*bolt.Tx) error) (*store, error) {
	s := &store{}
	s.intact, s.invalidate = context.WithCancelCause(context.Background())
	fault, err := guarded(func() (err error) {
		s.db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:      lockTimeout,
			FreelistType: bolt.FreelistMapType,
			NoStatistics: true,
			OpenFile: func(path string, flag int, mode os.FileMode) (file *os.File, err error) {
				if file, err = os.OpenFile(path, flag, mode); s.file == nil {
					s.file = file // later calls are for copies
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
		s.file.Close() // which releases the lock
		return nil, damaged(fault)
	case err != nil && s.db != nil:
		s.db.Close()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// guarded calls do. Damage of the file may cause a panic or a fault of the mapped memory, which
// guarded returns as fault.
func guarded(do func() error) (fault any, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		fault = recover()
		if _, isFault := fault.(interface{ Addr() uintptr }); isFault {
			fault = "a part of it is missing"
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
		return errNotStateFile
	}
}

func damaged(why any) error {
	return fmt.Errorf("it is damaged (%v): delete it to start over", why)
}

// update runs a transaction that writes everything or nothing.
func (s *store) update(do func(*bolt.Tx) error) error {
	return s.run(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			if err := s.checkIntact(tx); err != nil { // writing would only hide the damage
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
	s.transactions.Go(func() {
		fault, err := guarded(transaction)
		if fault != nil {
			s.markDamaged(fault)
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

func (s *store) markDamaged(why any) {
	s.invalidate(fmt.Errorf("it was truncated or overwritten while dwatch was using it (%v): delete it to start over", why))
}

func (s *store) checkSize(tx *bolt.Tx) error {
	info, err := s.file.Stat()
	if err == nil && tx.Size() > info.Size() {
		err = fmt.Errorf("it has %d of %d bytes", info.Size(), tx.Size())
	}
	return err
}

// checkIntact returns an error if the file was truncated. The file then can't be used any more.
func (s *store) checkIntact(tx *bolt.Tx) error {
	err := s.checkSize(tx)
	if err != nil {
		s.markDamaged(err)
	}
	return err
}

// CheckIntegrity returns an error if the file was truncated or overwritten, as far as a quick check
// can tell.
func (s *store) CheckIntegrity() error { return s.view(s.checkIntact) }

// close checks and unlocks the file. A damaged file is unlocked in the background when no
// transaction uses it any more, because the locks of the database may never be released.
func (s *store) close() error {
	err := s.CheckIntegrity()
	if s.intact.Err() != nil {
		go func() {
			s.transactions.Wait()
			s.file.Close() // which releases the lock
		}()
		return context.Cause(s.intact)
	}
	return cmp.Or(err, s.run(s.db.Close))
}

// releaseKeys is the number of keys after which memory is released. Each key may have read 64 KB.
const releaseKeys = 64

// releasePeriodically releases memory for every releaseKeys-th key. n counts from 0.
func releasePeriodically(tx *bolt.Tx, n int) {
	if n%releaseKeys == releaseKeys-1 {
		release(tx)
	}
}

// eachKey calls do with each key of a bucket, and releases the memory.
func eachKey(b *bolt.Bucket, do func(key, value []byte) error) error {
	defer release(b.Tx())
	n := 0
	return b.ForEach(func(key, value []byte) error {
		releasePeriodically(b.Tx(), n)
		n++
		return do(key, value)
	})
}
