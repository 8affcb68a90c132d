package resume

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// commitInterval is the time between commits of what has been told: each
	// costs two syncs of the disk, whatever its size.
	commitInterval = time.Second
	// commitSoon is how many changes do not wait for that.
	commitSoon = 8 << 10
	// A stream is flushed after so many changes, or bytes of text, at the latest.
	flushChanges = 1024
	flushText    = 256 << 10
	// So much may wait for the writer.
	maxChanges = 8 << 10
	maxText    = 1 << 20
)

// writer writes text and file, each after the other, from a goroutine of its own:
//
//  1. the file: these objects are about to be told as ADDED
//  2. the text
//  3. the file: all that is told, together with the next first step, or soon
//
// Without the first step, the deletion of an object would be lost that was told
// just before the process was killed, and is no more when the next one starts:
// nothing would know of it. Where there is no ADDED in the text, it is left out.
type writer struct {
	file    *File
	out     io.Writer
	failed  func(error)
	closing chan struct{}
	ended   chan struct{}
	// Signals, of which one may be pending: there is something to write, and there
	// is room again.
	some, room chan struct{}

	mu      sync.Mutex
	waiting batch
	err     error

	// told has been written out, and is not in the file yet.
	told      []change
	committed time.Time
	// spare is the batch before, whose memory is used again.
	spare batch
}

// batch is text, and what it tells.
type batch struct {
	text    []byte
	changes []change
}

func startWriter(f *File, out io.Writer, failed func(error)) *writer {
	w := &writer{
		file: f, out: out, failed: failed,
		closing: make(chan struct{}), ended: make(chan struct{}),
		some: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	go w.run()
	return w
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put has text written, and changes after it. It keeps neither. It waits while
// too much else does.
func (w *writer) put(text []byte, changes []change) error {
	w.mu.Lock()
	for w.err == nil && (len(w.waiting.changes) >= maxChanges || len(w.waiting.text) >= maxText) {
		w.mu.Unlock()
		select {
		case <-w.room:
		case <-w.ended:
		}
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if len(text) > 0 || len(changes) > 0 {
		w.waiting.text = append(w.waiting.text, text...)
		w.waiting.changes = append(w.waiting.changes, changes...)
		signal(w.some)
	}
	return nil
}

func (w *writer) take() batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.waiting
	w.waiting = batch{w.spare.text[:0], w.spare.changes[:0]}
	w.spare = b
	signal(w.room)
	return b
}

func (w *writer) run() {
	defer close(w.ended)
	due := time.NewTimer(0)
	defer due.Stop()
	for closing := false; !closing; {
		select {
		case <-w.some:
		case <-due.C:
		case <-w.closing:
			closing = true
		}
		err := w.tell(w.take())
		if err == nil && (closing || len(w.told) >= commitSoon || time.Since(w.committed) >= commitInterval) {
			err = w.commit(nil)
		}
		if err != nil {
			w.fail(err)
			return
		}
		if len(w.told) > 0 {
			due.Reset(commitInterval - time.Since(w.committed))
		}
	}
}

// tell writes b out, once the file knows of what is new in it.
func (w *writer) tell(b batch) error {
	var added []change
	for _, c := range b.changes {
		if c.isAdded() {
			added = append(added, c)
		}
	}
	if len(added) > 0 {
		if err := w.commit(added); err != nil {
			return err
		}
	}
	if len(b.text) > 0 {
		if _, err := w.out.Write(b.text); err != nil {
			return err
		}
	}
	w.told = append(w.told, b.changes...)
	return nil
}

// commit writes to the file what has been told, and what is about to be.
func (w *writer) commit(announced []change) error {
	told := w.told
	w.told, w.committed = nil, time.Now()
	if len(told) == 0 && len(announced) == 0 {
		return nil
	}
	if err := w.file.commit(told, announced); err != nil {
		return fmt.Errorf("write state file %s: %w", w.file.path, err)
	}
	return nil
}

// fail ends the writer. What has been told is still recorded, where that is
// possible.
func (w *writer) fail(err error) {
	if failed := w.commit(nil); failed != nil {
		err = errors.Join(err, failed)
	}
	w.mu.Lock()
	w.err = err
	w.mu.Unlock()
	w.failed(err)
}

// close writes what is left.
func (w *writer) close() error {
	close(w.closing)
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
