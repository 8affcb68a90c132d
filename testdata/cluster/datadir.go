package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// dataDir is the directory that holds everything a cluster writes except the
// kubeconfig. At most one process uses it at a time.
type dataDir struct {
	root      string
	temporary bool
	lock      *os.File
}

// openDataDir takes dir for this process, creating it if needed; without a dir
// it makes a temporary one, which close removes.
func openDataDir(dir string) (*dataDir, error) {
	data := &dataDir{root: dir}
	if dir == "" {
		root, err := os.MkdirTemp("", "dwatch-cluster-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a data directory: %w", err)
		}
		data.root, data.temporary = root, true
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w", err)
	}
	if err := data.take(); err != nil {
		return nil, err
	}
	return data, nil
}

// take locks the directory. Without it a second etcd on the same files would
// wait for the first one forever. The kernel drops the lock with the process,
// so a killed cluster never blocks its successor.
func (d *dataDir) take() error {
	lock, err := os.OpenFile(d.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("cannot lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("data directory %s is in use by another cluster: %w", d.root, err)
	}
	d.lock = lock
	return nil
}

// path returns the path of a file in the directory.
func (d *dataDir) path(name string) string { return filepath.Join(d.root, name) }

// loadOrCreate returns the content of a file in the directory, which create
// makes up when the file is not there yet.
func (d *dataDir) loadOrCreate(name string, create func() ([]byte, error)) ([]byte, error) {
	content, err := os.ReadFile(d.path(name))
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if content, err = create(); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", name, err)
	}
	return content, replaceFile(d.path(name), content)
}

// close gives the directory up, and removes it if it is temporary.
func (d *dataDir) close() {
	// Again if needed: a component that outlived its time limit may still write.
	for try := 0; d.temporary && os.RemoveAll(d.root) != nil && try < 10; try++ {
		time.Sleep(20 * time.Millisecond)
	}
	d.lock.Close()
}

// replaceFile writes a private file in one step: readers, and a process killed
// on the way, see the old content or the new one, never a part.
func replaceFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
