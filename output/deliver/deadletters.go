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

// DeadLetterFile is the path of a file with a line for each message that was given up. If empty, these messages are lost. Several
// processes may append lines at the same time. The file is created again if it is moved away.
type DeadLetterFile string

// deadLetter is a line of the file. It has everything that is necessary to send the message again. Its fields are the
// members of the JSON line.
type deadLetter struct {
	Time     string     `json:"time"`
	Reason   string     `json:"reason"`
	Tries    int        `json:"tries"`
	ID       string     `json:"id"`
	Type     event.Type `json:"type"`
	Cluster  string     `json:"cluster,omitempty"`
	Source   string     `json:"source,omitempty"`
	Rule     string     `json:"rule,omitempty"` // empty without rules
	Resource string     `json:"resource"`
	event.Identity
	Subject string          `json:"subject,omitempty"` // the object as messages name it
	Event   json.RawMessage `json:"event"`             // a JSON object, or a string with YAML
}

// Check creates the file with mode 0600 if it does not exist, and returns an error if it can't be appended to.
func (d DeadLetterFile) Check() error {
	file, _, err := d.open()
	if err != nil {
		return err
	}
	return file.Close()
}

// CheckPath is like Check, but creates no file. If the file does not exist, it only checks the directory.
func (d DeadLetterFile) CheckPath() error {
	if _, err := os.Stat(string(d)); !errors.Is(err, fs.ErrNotExist) {
		return d.Check()
	}
	_, err := os.Stat(filepath.Dir(string(d)))
	return err
}

// open opens the file for appending. It rejects pipes, which could block the delivery. Opening for reading and writing never blocks.
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

// write appends a message that was given up. It does nothing if d is empty.
func (d DeadLetterFile) write(m *Message, at time.Time, tries int, reason error) error {
	if d == "" {
		return nil
	}
	if err := d.append(encode(m, at, tries, reason)); err != nil {
		return fmt.Errorf("write an undelivered event: %w", err)
	}
	return nil
}

// append appends a line with a single write, so that lines of several processes do not mix. It first ends a line that was cut off by
// a crash or a full disk. If two processes do that at the same time, the file gets an empty line, which readers ignore.
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
	encoder := json.NewEncoder(&line) // it adds the line feed
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(l) // it cannot fail for these types
	return line.Bytes()
}
