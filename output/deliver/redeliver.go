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

// Redelivery sends again what a file of DeadLetters holds. The file is read once, up to the end
// that it had when it was opened, and is not changed. DeadLetters may add lines meanwhile.
type Redelivery struct {
	file *os.File
	size int64
}

// OpenRedelivery opens a file.
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

// Sources reports whether some messages say from which of several clusters they are, and whether some do not, which are
// from one that the receiver has to be told. It is called before Feed. Lines that can't be sent have no part in it.
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

// Feed has a Queue send what is in the file, until ctx ends. damaged gets the number of each line
// that can't be sent, and why. It returns how many messages there are, and is called once.
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

// decode returns the message of a line that encode has made.
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
		_ = json.Unmarshal(body, &seen) // or it has no time
		body = append(body, '\n')
	}
	if given, err := time.Parse(time.RFC3339, l.Time); err == nil && seen.Time.IsZero() {
		seen.Time = given
	}
	if l.Subject == "" { // it is of an older dwatch
		l.Subject = strings.TrimSpace(l.Namespace + " " + resource[0] + "/" + l.Name)
	}
	return &Message{
		ID: l.ID, Type: l.Type, Cluster: l.Cluster, Source: l.Source, Rule: l.Rule, Identity: l.Identity, Subject: output.EscapeLine(l.Subject), Time: seen.Time, Body: body,
		Resource: schema.GroupVersionResource{Resource: resource[0], Version: resource[1], Group: resource[2]},
	}, nil
}
