// Package secret reads credentials and certificates from files, or takes them as text, for example from an environment
// variable. It reads a file again when the file changes. No error contains a credential.
package secret

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Source is a file or a text with a secret. The zero value means that there is no secret.
type Source struct {
	Name       string // a flag or an environment variable, for errors
	Path, Text string // a file or, if Path is empty, the content
	IsBundle   bool   // true for certificates, which may be larger than credentials
}

// IsSet reports whether there is a secret.
func (s Source) IsSet() bool { return s.Path != "" || s.Text != "" }

// maxSize is the maximum size of a file with credentials in bytes, and maxBundleSize of one with certificates.
const maxSize, maxBundleSize = 64 << 10, 16 << 20

// Value is the parsed content of a Source. A nil Value is valid and means that there is none.
type Value[T any] struct {
	Source
	parse func(text string) (T, error) // its errors must not contain the text

	mu    sync.Mutex
	info  fs.FileInfo // of the file when it was read; nil if there is no file or it can be read only once
	value T
}

// Load reads and parses a Source. It returns nil if the Source is not set. Errors of parse must not contain the text.
func Load[T any](s Source, parse func(string) (T, error)) (*Value[T], error) {
	if !s.IsSet() {
		return nil, nil
	}
	v := &Value[T]{Source: s, parse: parse}
	if err := v.read(); err != nil {
		return nil, v.explain(err)
	}
	return v, nil
}

// Get returns the current value. It reads the file again only if it has changed, and returns an error if it can't read or
// parse it. For a nil Value it returns the zero value.
func (v *Value[T]) Get() (value T, err error) {
	if v == nil {
		return value, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.info == nil {
		return v.value, nil
	}
	info, err := os.Stat(v.Path)
	isSame := err == nil && os.SameFile(info, v.info) && info.Size() == v.info.Size() && info.ModTime().Equal(v.info.ModTime())
	if err == nil && !isSame {
		err = v.read()
	}
	if err != nil {
		return value, v.explain(err)
	}
	return v.value, nil
}

// read reads and parses the Source. After an error, v is unchanged.
func (v *Value[T]) read() (err error) {
	text, info := v.Text, fs.FileInfo(nil)
	if v.Path != "" {
		if info, err = os.Stat(v.Path); err != nil { // before reading, so that the next Get notices a concurrent change
			return err
		}
		limit := maxSize
		if v.IsBundle {
			limit = maxBundleSize
		}
		if text, err = readFile(v.Path, limit); err != nil {
			return err
		}
	}
	value, err := v.parse(text)
	if err != nil {
		return err
	}
	v.value, v.info = value, nil
	if info != nil && info.Mode().IsRegular() { // other files, such as pipes, can be read only once
		v.info = info
	}
	return nil
}

// readFile returns the content of a file. It returns an error if the file has more than limit bytes.
func readFile(path string, limit int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return string(text), err
}

// explain adds the name of the Source to an error.
func (s *Source) explain(err error) error {
	if s.Path != "" {
		return fileError(s.Name, s.Path, err)
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}
