package resume

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"
)

// TestSpoiltWhileInUse: a file that somebody cuts or overwrites while it is open is an
// error of whoever uses it. Nobody hangs, and nothing crashes.
func TestSpoiltWhileInUse(t *testing.T) {
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
			o, err := f.Outbox("json")
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
				if want := `^(write|read)? ?state file .*: (it was cut or overwritten while dwatch was using it|it is damaged) \(`; err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
					t.Errorf("%v, want %s", err, want)
				}
			case <-time.After(time.Minute):
				t.Fatal("it hangs")
			}
		})
	}
}

// useAll reads and writes at the same time, and then closes the file. It returns the first
// error.
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

// overwrite writes over the beginning of a file.
func overwrite(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	return errors.Join(err, file.Close())
}
