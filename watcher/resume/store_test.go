package resume

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// TestDamagedWhileInUse checks that a file that another process truncates or overwrites causes an
// error, no hang, and no crash.
func TestDamagedWhileInUse(t *testing.T) {
	garbage := bytes.Repeat([]byte("garbage "), 1<<12)
	for name, spoil := range map[string]func(path string) error{
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"cut off":     func(path string) error { return os.Truncate(path, 3*int64(os.Getpagesize())) },
		"replaced":    func(path string) error { return os.WriteFile(path, []byte("a text\n"), 0o600) },
		"overwritten": func(path string) error { return overwrite(path, garbage) },
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			f := openMine(t, path)
			o, err := f.OpenOutbox("json")
			if err != nil {
				t.Fatal(err)
			}
			r := newReader(t, f)
			var first uint64
			r.onDeliver = func() { first, err = o.Add([][]byte{garbage, garbage, garbage, garbage}, nil) }
			r.report(pods, "ADDED web/1/1")
			if err != nil {
				t.Fatal(err)
			}
			r.onDeliver = func() { r.refuse = errors.Join(r.refuse, ignore(o.Add([][]byte{garbage}, nil))) }

			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() { done <- useAll(f, o, r, first) }()
			select {
			case err := <-done:
				if want := `^(write|read)? ?state file .*: (it was truncated or overwritten while dwatch was using it|it is damaged) \(`; err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
					t.Errorf("got error %v, want %s", err, want)
				}
			case <-time.After(time.Minute):
				t.Fatal("the file hangs")
			}
		})
	}
}

// TestDamagedWhileWritten checks that a truncated file is closed when a running transaction ends,
// and that close does not wait for that.
func TestDamagedWhileWritten(t *testing.T) {
	path := newPath(t)
	f := openMine(t, path)
	writing, closed, written := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		f.update(func(tx *bolt.Tx) error {
			close(writing)
			<-closed
			_, err := f.store.file.Stat()
			written <- err
			return nil
		})
	}()
	<-writing
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err == nil {
		t.Error("close returned no error for a truncated file")
	}
	close(closed)
	if err := <-written; err != nil {
		t.Errorf("the file was closed during a transaction: %v", err)
	}
	var err error
	for late := time.Now().Add(time.Minute); err == nil && time.Now().Before(late); _, err = f.store.file.Stat() {
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file was not closed: %v", err)
	}
}

// useAll reads and writes concurrently, closes the file, and returns the first error.
func useAll(f *File, o *Outbox, r *reader, first uint64) error {
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 4 {
		all.Go(func() {
			for range 10 {
				_, err := o.Record(first + uint64(i))
				errs <- err
			}
		})
	}
	all.Go(func() { errs <- r.deliver(pods, "MODIFIED web/1/2") })
	all.Wait()
	o.Remove(first)
	errs <- r.stage.Close()
	errs <- f.Close()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func ignore(_ uint64, err error) error { return err }

// overwrite overwrites the beginning of a file.
func overwrite(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	return errors.Join(err, file.Close())
}
