package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

// mount is a directory of files as the kubelet mounts a Secret, a ConfigMap or a token. All files change atomically, by
// replacing a symbolic link.
type mount struct {
	dir string

	mu    sync.Mutex
	turn  int
	files map[string][]byte
}

func newMount(dir string) (*mount, error) {
	return &mount{dir: dir, files: map[string][]byte{}}, os.Mkdir(dir, 0o700)
}

func (m *mount) path(name string) string { return filepath.Join(m.dir, name) }

// set adds or replaces files, and keeps the others.
func (m *mount) set(files map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := fmt.Sprintf("..%d", m.turn)
	m.turn++
	present := fmt.Sprintf("..%d", m.turn)
	maps.Copy(m.files, files)
	errs := []error{os.Mkdir(m.path(present), 0o700)}
	for name, content := range m.files {
		errs = append(errs, os.WriteFile(filepath.Join(m.path(present), name), content, 0o600))
	}
	errs = append(errs, os.Symlink(present, m.path("..data.new")), os.Rename(m.path("..data.new"), m.path("..data")))
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), m.path(name)); !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(m.path(before)))...)
}

// content returns the content of a file.
func (m *mount) content(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[name]
}
