package deliver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// DeadLetters is a file with a line for each message that was given up. What takes lines
// out of it, a Redelivery of any process, puts another file in its place; it is then that
// one.
type DeadLetters struct {
	path string
	// kept is told of each message that is in the file; nil: nobody is.
	kept func(*Message)

	mu   sync.Mutex
	file *os.File
}

// letter is a line: all that is needed to send the message again.
type letter struct {
	Time            string          `json:"time"`
	Reason          string          `json:"reason"`
	Tries           int             `json:"tries"`
	ID              string          `json:"id"`
	Type            string          `json:"type"`
	Resource        string          `json:"resource"`
	APIVersion      string          `json:"apiVersion"`
	Kind            string          `json:"kind"`
	Namespace       string          `json:"namespace,omitempty"`
	Name            string          `json:"name"`
	UID             string          `json:"uid"`
	ResourceVersion string          `json:"resourceVersion"`
	Subject         string          `json:"subject,omitempty"` // as messages name it
	Event           json.RawMessage `json:"event"`             // an object, or YAML as a string
}

// OpenDeadLetters opens a file to append to; it is made if it does not exist. Only its
// owner may read what is made.
func OpenDeadLetters(path string) (*DeadLetters, error) {
	file, err := openToAppend(path)
	if err != nil {
		return nil, err
	}
	return &DeadLetters{path: path, file: file}, nil
}

func openToAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

// endLine ends a line that was cut off, by the end of its writer or of the disk.
func endLine(file *os.File) error {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, info.Size()-1); err != nil && err != io.EOF || last[0] == '\n' {
		return err
	}
	_, err = file.WriteString("\n")
	return err
}

// write adds a message that was given up at a time after so many tries. Nil letters
// write nothing.
func (d *DeadLetters) write(m *Message, at time.Time, tries int, reason error) error {
	if d == nil {
		return nil
	}
	line, err := encode(m, at, tries, reason)
	if err != nil {
		return err
	}
	if err := d.append(line); err != nil {
		return fmt.Errorf("write what could not be delivered: %w", err)
	}
	if d.kept != nil {
		d.kept(m)
	}
	return nil
}

func (d *DeadLetters) append(line []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.lock(); err != nil {
		return err
	}
	err := endLine(d.file) // another program may have written it since the last one
	if err == nil {
		_, err = d.file.Write(line)
	}
	return errors.Join(err, unlockFile(d.file))
}

// lock waits until nobody takes lines out of the file, or another is in its place.
func (d *DeadLetters) lock() error {
	for {
		if err := lockFile(d.file); err != nil {
			return err
		}
		same, err := isAt(d.file, d.path)
		if same || err != nil {
			return err
		}
		file, err := openToAppend(d.path)
		if err != nil {
			return errors.Join(err, unlockFile(d.file))
		}
		d.file.Close() // each line of it is written
		d.file = file
	}
}

// isAt reports whether a file that is open is the one at a path.
func isAt(file *os.File, path string) (bool, error) {
	open, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, there), err
}

func encode(m *Message, at time.Time, tries int, reason error) ([]byte, error) {
	l := letter{
		Time: at.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Reason: reason.Error(), Tries: tries,
		ID: m.ID, Type: string(m.Type),
		Resource:   m.Resource.Resource + "." + m.Resource.Version + "." + m.Resource.Group,
		APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name,
		UID: string(m.UID), ResourceVersion: m.ResourceVersion, Subject: m.Subject,
		Event: json.RawMessage(bytes.TrimSpace(m.Body)),
	}
	if !json.Valid(m.Body) {
		text, err := json.Marshal(string(m.Body))
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", m.ID, err)
		}
		l.Event = text
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line) // ends the line
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l); err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ID, err)
	}
	return line.Bytes(), nil
}

// Close closes the file.
func (d *DeadLetters) Close() error {
	if d == nil {
		return nil
	}
	return d.file.Close()
}
