package webhook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// Credential is something secret, in a file or a text. The zero value is none.
type Credential struct {
	Name       string // in errors: a flag, or a variable of the environment
	Path, Text string // a file; if that is empty, what would be in it
}

// longestCredential is how large a file of credentials may be. A larger one is something else.
const longestCredential = 64 << 10

// credential is a Credential that makes sense. nil is none.
type credential[T any] struct {
	Credential
	parse func(text string) (T, error) // its errors don't repeat the text

	mu    sync.Mutex
	info  fs.FileInfo // of the file when it was read; nil: it can be read only once
	value T
}

func load[T any](c Credential, parse func(string) (T, error)) (*credential[T], error) {
	if c.Path == "" && c.Text == "" {
		return nil, nil
	}
	l := &credential[T]{Credential: c, parse: parse}
	if err := l.read(); err != nil {
		return nil, l.explain(err)
	}
	return l, nil
}

// get returns what the file says now. It does not read one that did not change.
func (c *credential[T]) get() (value T, err error) {
	if c == nil {
		return value, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.info == nil {
		return c.value, nil
	}
	now, err := os.Stat(c.Path)
	isSame := err == nil && os.SameFile(now, c.info) && now.Size() == c.info.Size() && now.ModTime().Equal(c.info.ModTime())
	if err == nil && !isSame {
		err = c.read()
	}
	if err != nil {
		return value, c.explain(err)
	}
	return c.value, nil
}

// read reads and parses it. After an error it still is what it was before.
func (c *credential[T]) read() (err error) {
	text, info := c.Text, fs.FileInfo(nil)
	if c.Path != "" {
		if info, err = os.Stat(c.Path); err != nil { // before it is read, so that a later change is one
			return err
		}
		if text, err = readFile(c.Path); err != nil {
			return err
		}
	}
	value, err := c.parse(text)
	if err != nil {
		return err
	}
	c.value, c.info = value, nil
	if info != nil && info.Mode().IsRegular() { // a pipe is empty the next time
		c.info = info
	}
	return nil
}

func readFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestCredential+1))
	if err == nil && len(text) > longestCredential {
		err = fmt.Errorf("it has more than %d bytes", longestCredential)
	}
	return string(text), err
}

// explain says which credential an error is about.
func (c *Credential) explain(err error) error {
	if c.Path != "" {
		return fileError(c.Name, c.Path, err)
	}
	return fmt.Errorf("%s: %w", c.Name, err)
}

// Token returns the bearer token that it is, for who shows it to somebody else; empty: there is none. Its errors
// name it.
func (c Credential) Token() (string, error) {
	l, err := load(c, parseToken)
	if err != nil {
		return "", err
	}
	return l.get()
}

func parseToken(text string) (string, error) {
	token := strings.TrimSpace(text)
	switch {
	case token == "":
		return "", errors.New("there is no token in it")
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return "", errors.New("it is no token: that is one word")
	}
	return token, nil
}

// parseHeaders reads lines "Name: value". Empty ones, and those that begin with #, say nothing.
func parseHeaders(text string) (http.Header, error) {
	headers := http.Header{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case !found, !httpguts.ValidHeaderFieldName(name), !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("line %d is not of the form Name: value", i+1)
		case isOurs(name):
			return nil, fmt.Errorf("line %d: the header %s is set by dwatch", i+1, name)
		}
		headers.Add(name, value)
	}
	if len(headers) == 0 {
		return nil, errors.New("there is no header in it")
	}
	return headers, nil
}

// isOurs reports whether a header says how or what is sent.
func isOurs(name string) bool {
	switch name = strings.ToLower(name); name {
	case "host", "connection", "content-length", "content-type", "content-encoding", "expect",
		"idempotency-key", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent":
		return true
	}
	return strings.HasPrefix(name, "ce-") || strings.HasPrefix(name, "webhook-")
}
