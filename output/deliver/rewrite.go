package deliver

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
)

// Save takes out of the file what is delivered, or kept elsewhere: another file is put in
// its place at once, so that a crash leaves the one or the other.
func (r *Redelivery) Save() error {
	r.mu.Lock()
	done := maps.Clone(r.done)
	r.mu.Unlock()
	if len(done) == 0 {
		return nil
	}
	if err := rewrite(r.path, done); err != nil {
		return fmt.Errorf("take out of %s what is delivered: %w", r.path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range done {
		delete(r.done, line)
	}
	return nil
}

// rewrite replaces the file at a path by one without some of its lines. Nobody adds lines
// meanwhile, who locks it.
func rewrite(path string, without map[digest]bool) (err error) {
	old, err := openLocked(path)
	if err != nil {
		return err
	}
	defer old.Close() // which unlocks it
	info, err := old.Stat()
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		fresh.Close()
		if err != nil {
			os.Remove(fresh.Name())
		}
	}()
	if err := errors.Join(copyLines(fresh, old, without), own(fresh, info), fresh.Chmod(info.Mode().Perm()), fresh.Sync()); err != nil {
		return err
	}
	if !hasLocks {
		old.Close() // or it can't be replaced
	}
	return errors.Join(fresh.Close(), os.Rename(fresh.Name(), path))
}

// openLocked opens the file that is at a path when it is locked.
func openLocked(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		if err := lockFile(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		same, err := isAt(file, path)
		if same {
			return file, nil
		}
		file.Close()
		if err != nil {
			return nil, err
		}
	}
}

// copyLines copies all lines but some.
func copyLines(to io.Writer, from io.Reader, without map[digest]bool) error {
	w := bufio.NewWriter(to)
	err := eachLine(from, func(_ int, line []byte) error {
		if without[sha256.Sum256(line)] {
			return nil
		}
		_, err := w.Write(append(line, '\n'))
		return err
	})
	return errors.Join(err, w.Flush())
}
