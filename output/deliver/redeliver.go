package deliver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
)

// Redelivery sends the messages of a DeadLetterFile again. It reads the file up to its size at the time of opening, and does not
// change it. Other processes may append lines.
type Redelivery struct {
	file *os.File
	size int64
}

// OpenRedelivery opens a file with dead letters.
func OpenRedelivery(path string) (*Redelivery, error) {
	info, err := os.Stat(path) // a pipe would block
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, openErr := os.Open(path)
	if failed, ok := errors.AsType[*os.PathError](cmp.Or(err, openErr)); ok {
		return nil, fmt.Errorf("%s: %w", path, failed.Err) // without its "stat"
	}
	return &Redelivery{file, info.Size()}, nil
}

// ScanSources reports whether any message has its own source, and whether any message has none and needs the receiver's source. It
// ignores damaged lines. It must be called before Feed.
func (r *Redelivery) ScanSources() (own, none bool, err error) {
	lines := bufio.NewReader(io.NewSectionReader(r.file, 0, r.size))
	for {
		line, err := lines.ReadBytes('\n')
		if m, damaged := decode(line); damaged == nil {
			own, none = own || m.Source != "", none || m.Source == ""
		}
		switch {
		case errors.Is(err, io.EOF) || own && none:
			return own, none, nil
		case err != nil:
			return own, none, err
		}
	}
}

// Feed puts the messages of the file into a Queue until ctx is done. It calls damaged with the number and error of each invalid line,
// and returns the number of messages. It must be called once.
func (r *Redelivery) Feed(ctx context.Context, q *Queue, damaged func(line int, err error)) (messages int, err error) {
	defer r.file.Close()
	lines := bufio.NewReader(io.LimitReader(r.file, r.size))
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if ctx.Err() != nil {
				return messages, context.Cause(ctx)
			}
			if m, err := decode(line); err != nil {
				damaged(n, err)
			} else {
				messages++
				q.put(ctx, m)
			}
		}
		if errors.Is(err, io.EOF) {
			return messages, nil
		}
		if err != nil {
			return messages, err
		}
	}
}

// decode parses a line from encode.
func decode(line []byte) (*Message, error) {
	var l deadLetter
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, fmt.Errorf("it is not a line of --dead-letters: %w", err)
	}
	resource := strings.SplitN(l.Resource, ".", 3)
	switch {
	case l.ID == "" || len(resource) != 3 || len(l.Event) == 0 || string(l.Event) == "null":
		return nil, errors.New("it is not a line of --dead-letters: it takes id, resource and event")
	case l.Type == "" || l.Type.IsStatus():
		return nil, fmt.Errorf("it is not a line of --dead-letters: its type is %q", l.Type)
	}
	body := []byte(l.Event)
	var seen struct{ Time time.Time }
	if text := ""; json.Unmarshal(body, &text) == nil {
		body = []byte(text) // YAML
	} else {
		_ = json.Unmarshal(body, &seen) // the time is optional
		body = append(body, '\n')
	}
	if given, err := time.Parse(time.RFC3339, l.Time); err == nil && seen.Time.IsZero() {
		seen.Time = given
	}
	if l.Subject == "" { // the line is from an older dwatch
		l.Subject = strings.TrimSpace(l.Namespace + " " + resource[0] + "/" + l.Name)
	}
	return &Message{
		ID: l.ID, Type: l.Type, Cluster: l.Cluster, Source: l.Source, Rule: l.Rule, Identity: l.Identity, Subject: output.EscapeLine(l.Subject), Time: seen.Time, Body: body,
		Resource: schema.GroupVersionResource{Resource: resource[0], Version: resource[1], Group: resource[2]},
	}, nil
}
