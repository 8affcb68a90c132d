package deliver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"dwatch/watcher/event"
)

// DeadLetters is the path of a file with a line for each message that was given up; empty: there is
// none. Several processes may add lines to it at the same time. If it is moved away, it is made
// again.
type DeadLetterFile string

// deadLetter is a line: all that is needed to send the message again.
type deadLetter struct {
	Time     string     `json:"time"`
	Reason   string     `json:"reason"`
	Tries    int        `json:"tries"`
	ID       string     `json:"id"`
	Type     event.Type `json:"type"`
	Cluster  string     `json:"cluster,omitempty"`
	Source   string     `json:"source,omitempty"`
	Rule     string     `json:"rule,omitempty"` // of a file of rules
	Resource string     `json:"resource"`
	event.Identity
	Subject string          `json:"subject,omitempty"` // as messages name it
	Event   json.RawMessage `json:"event"`             // an object, or YAML as a string
}

// Check makes the file if it does not exist, for its owner alone, and makes sure that it can be
// appended to.
func (d DeadLetterFile) Check() error {
	file, _, err := d.open()
	if err != nil {
		return err
	}
	return file.Close()
}

// CheckPath is Check, but makes nothing: where there is no file, there is a directory for it.
func (d DeadLetterFile) CheckPath() error {
	if _, err := os.Stat(string(d)); !errors.Is(err, fs.ErrNotExist) {
		return d.Check()
	}
	_, err := os.Stat(filepath.Dir(string(d)))
	return err
}

// open opens the file to append to it. A pipe that nobody reads would block the delivery, so it
// takes a regular file; to open one for reading, too, never blocks.
func (d DeadLetterFile) open() (file *os.File, size int64, err error) {
	file, err = os.OpenFile(string(d), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(string(d) + " is not a regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// write adds a message that was given up at a time after so many tries, if there is a file.
func (d DeadLetterFile) write(m *Message, at time.Time, tries int, reason error) error {
	if d == "" {
		return nil
	}
	if err := d.append(encode(m, at, tries, reason)); err != nil {
		return fmt.Errorf("write what could not be delivered: %w", err)
	}
	return nil
}

// append adds a line by a single write, so that no line of another process comes between. A line
// that was cut off, by the end of its writer or of the disk, is ended first; should two processes
// do that at once, there is an empty line, which means nothing.
func (d DeadLetterFile) append(line []byte) (err error) {
	file, size, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	last := []byte{'\n'}
	if _, err := file.ReadAt(last, max(size-1, 0)); err != nil && err != io.EOF {
		return err
	}
	if last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	_, err = file.Write(line)
	return err
}

func encode(m *Message, at time.Time, tries int, reason error) []byte {
	l := deadLetter{
		Time: event.Timestamp{Time: at}.String(), Reason: reason.Error(), Tries: tries,
		ID: m.ID, Type: m.Type, Cluster: m.Cluster, Source: m.Source, Rule: m.Rule, Resource: m.Resource.Resource + "." + m.Resource.Version + "." + m.Resource.Group,
		Identity: m.Identity, Subject: m.Subject, Event: m.Body,
	}
	if !json.Valid(m.Body) {
		l.Event, _ = json.Marshal(string(m.Body)) // a string has a JSON form
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line) // ends the line
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(l) // all of it has a JSON form
	return line.Bytes()
}
