// Package secret reads what receivers must not see on a command line: credentials, from files that are read again when they
// change, or from the environment, and the certificates of a connection. No error has one of them in it.
package secret

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Source is where something secret is, in a file or a text. The zero value is none.
type Source struct {
	Name       string // in errors: a flag, or a variable of the environment
	Path, Text string // a file; if that is empty, what would be in it
	IsBundle   bool   // of certificates, of which there may be many
}

// Is reports whether there is one.
func (s Source) IsSet() bool { return s.Path != "" || s.Text != "" }

// longest is how large a file of credentials may be, and longestBundle one of certificates. A larger one is something else.
const longest, longestBundle = 64 << 10, 16 << 20

// Value is what a Source has, which makes sense. nil is none.
type Value[T any] struct {
	Source
	parse func(text string) (T, error) // its errors don't repeat the text

	mu    sync.Mutex
	info  fs.FileInfo // of the file when it was read; nil: it can be read only once
	value T
}

// Load reads a Source, of which there may be none. Errors of parse must not repeat the text.
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

// Get returns what the file says now. It does not read one that did not change. Of no Value it is the zero value.
func (v *Value[T]) Get() (value T, err error) {
	if v == nil {
		return value, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.info == nil {
		return v.value, nil
	}
	now, err := os.Stat(v.Path)
	isSame := err == nil && os.SameFile(now, v.info) && now.Size() == v.info.Size() && now.ModTime().Equal(v.info.ModTime())
	if err == nil && !isSame {
		err = v.read()
	}
	if err != nil {
		return value, v.explain(err)
	}
	return v.value, nil
}

// read reads and parses it. After an error it still is what it was before.
func (v *Value[T]) read() (err error) {
	text, info := v.Text, fs.FileInfo(nil)
	if v.Path != "" {
		if info, err = os.Stat(v.Path); err != nil { // before it is read, so that a later change is one
			return err
		}
		most := longest
		if v.IsBundle {
			most = longestBundle
		}
		if text, err = readFile(v.Path, most); err != nil {
			return err
		}
	}
	value, err := v.parse(text)
	if err != nil {
		return err
	}
	v.value, v.info = value, nil
	if info != nil && info.Mode().IsRegular() { // a pipe is empty the next time
		v.info = info
	}
	return nil
}

func readFile(path string, most int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return string(text), err
}

// explain says which one an error is about.
func (s *Source) explain(err error) error {
	if s.Path != "" {
		return fileError(s.Name, s.Path, err)
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}
