package deliver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/output"
	"dwatch/watcher/event"
)

// Redelivery sends again what a file of DeadLetters holds. What is delivered, or given up
// and kept elsewhere, is taken out of the file: at the end by Save, and on the way now and
// then. All other lines stay as they are. DeadLetters may add lines meanwhile.
type Redelivery struct {
	path string // of the file itself, not of a link to it
	file *os.File

	mu    sync.Mutex
	sent  map[*Message]digest
	done  map[digest]bool // the lines that are to be taken out
	saved time.Time
	counts
	kept int // of those given up
}

// digest stands for a line.
type digest [sha256.Size]byte

// OpenRedelivery opens a file.
func OpenRedelivery(path string) (*Redelivery, error) {
	path, err := filepath.EvalSymlinks(path)
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", at.Path, at.Err) // without its "lstat"
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &Redelivery{path: path, file: file, sent: map[*Message]digest{}, done: map[digest]bool{}, saved: time.Now()}, nil
}

// Keeps has letters get what is given up; nil: it stays where it is.
func (r *Redelivery) Keeps(letters *DeadLetters) error {
	if letters == nil {
		return nil
	}
	if same, err := isAt(letters.file, r.path); same || err != nil {
		return cmp.Or(err, errors.New("it has to be another file: what is not delivered stays in that of --redeliver anyway"))
	}
	letters.kept = func(m *Message) { r.note(m, &r.kept) }
	return nil
}

// Receiver returns what passes messages on to a Receiver, and notes what that has taken.
func (r *Redelivery) Receiver(next Receiver) Receiver { return &noting{next, r} }

type noting struct {
	Receiver
	redelivery *Redelivery
}

// Send implements Receiver.
func (n *noting) Send(ctx context.Context, m *Message) error {
	err := n.Receiver.Send(ctx, m)
	if err == nil {
		n.redelivery.note(m, &n.redelivery.delivered)
	}
	return err
}

// saveEvery is how often it is noted in the file what was delivered. If the process is
// killed, so much may come again.
const saveEvery = 5 * time.Second

// note notes that the line of a message is not needed any more, and counts it.
func (r *Redelivery) note(m *Message, count *int) {
	r.mu.Lock()
	r.done[r.sent[m]] = true
	delete(r.sent, m)
	*count++
	due := time.Since(r.saved) >= saveEvery
	if due {
		r.saved = time.Now()
	}
	r.mu.Unlock()
	if due {
		_ = r.Save() // it is tried again at the end
	}
}

// Feed has a Queue, whose Receiver is the one of r, send what is in the file, until ctx
// ends. damaged gets the number of each line that can't be sent, and why; it stays in the
// file. It returns how many messages there are.
func (r *Redelivery) Feed(ctx context.Context, q *Queue, damaged func(line int, err error)) (messages int, err error) {
	defer r.file.Close()
	return messages, eachLine(whole{r.file}, func(n int, line []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, err := decode(line)
		if err != nil {
			damaged(n, err)
			return nil
		}
		messages++
		r.mu.Lock()
		r.sent[m] = sha256.Sum256(line)
		r.mu.Unlock()
		q.put(ctx, m)
		return nil
	})
}

// whole reads a file to which others may add lines, up to the end of a line: at the end of
// the file it waits for who is just writing there.
type whole struct{ file *os.File }

// Read implements io.Reader.
func (w whole) Read(p []byte) (int, error) {
	n, err := w.file.Read(p)
	if n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	if err := lockFile(w.file); err != nil {
		return 0, err
	}
	n, err = w.file.Read(p)
	return n, errors.Join(err, unlockFile(w.file))
}

// eachLine calls a function with the number of each line that is not empty, from 1, and
// the line without its end.
func eachLine(file io.Reader, do func(n int, line []byte) error) error {
	reader := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := do(n, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Results says what became of the messages so far: how many are delivered, and how many
// are given up and kept elsewhere.
func (r *Redelivery) Results() (delivered, kept int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delivered, r.kept
}

// decode returns the message of a line that encode has made.
func decode(line []byte) (*Message, error) {
	var l letter
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, fmt.Errorf("it is not a line of --dead-letters: %w", err)
	}
	resource := strings.SplitN(l.Resource, ".", 3)
	switch {
	case l.ID == "" || len(resource) != 3 || len(l.Event) == 0 || string(l.Event) == "null":
		return nil, errors.New("it is not a line of --dead-letters: it takes id, resource and event")
	case l.Type == "" || event.Type(l.Type).IsMark():
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
	return &Message{
		ID: l.ID, Type: event.Type(l.Type),
		Resource: schema.GroupVersionResource{Resource: resource[0], Version: resource[1], Group: resource[2]},
		Identity: event.Identity{
			APIVersion: l.APIVersion, Kind: l.Kind, Namespace: l.Namespace, Name: l.Name,
			UID: types.UID(l.UID), ResourceVersion: l.ResourceVersion,
		},
		Subject: output.Line(l.subject(resource[0])),
		Time:    seen.Time, Body: body, size: int64(len(body)) + overhead,
	}, nil
}

// subject is the object as the run that gave it up has named it. A line of an older
// dwatch does not say how.
func (l *letter) subject(resource string) string {
	subject := resource + "/" + l.Name
	if l.Namespace != "" {
		subject = l.Namespace + " " + subject
	}
	return cmp.Or(l.Subject, subject)
}
