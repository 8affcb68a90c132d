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

// DeadLetters is a file with a line for each message that was given up.
type DeadLetters struct {
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
	Event           json.RawMessage `json:"event"` // an object, or YAML as a string
}

// OpenDeadLetters opens a file to append to; it is made if it does not exist. Only its
// owner may read what is made.
func OpenDeadLetters(path string) (*DeadLetters, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := endLine(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return &DeadLetters{file: file}, nil
}

// endLine ends a line that was cut off when its writer was killed.
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.file.Write(line); err != nil {
		return fmt.Errorf("write what could not be delivered: %w", err)
	}
	return nil
}

func encode(m *Message, at time.Time, tries int, reason error) ([]byte, error) {
	l := letter{
		Time: at.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Reason: reason.Error(), Tries: tries,
		ID: m.ID, Type: string(m.Type),
		Resource:   m.Resource.Resource + "." + m.Resource.Version + "." + m.Resource.Group,
		APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name,
		UID: string(m.UID), ResourceVersion: m.ResourceVersion,
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
