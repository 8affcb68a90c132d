package resume

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	// writeInterval is how long a change may wait for others: each commit costs
	// two syncs of the disk, whatever its size.
	writeInterval = time.Second
	// writeSoon is how many changes wait for no more.
	writeSoon = 8 << 10
	// maxWaiting is how many changes may wait while the disk is busy.
	maxWaiting = 32 << 10
)

// change is one step of what the file holds.
type change struct {
	target *saved
	about  *about // of the target itself; else of an object:
	key    []byte
	value  []byte // nil: it is deleted
}

// writer commits changes from a goroutine of its own.
type writer struct {
	file    *File
	failed  func(error)
	closing chan struct{}
	ended   chan struct{}
	// Signals, of which one may be pending: there is something to write, there is
	// much to write, there is room again.
	some, much, room chan struct{}

	mu      sync.Mutex
	waiting []change
	err     error
}

func startWriter(f *File, failed func(error)) *writer {
	w := &writer{
		file: f, failed: failed,
		closing: make(chan struct{}), ended: make(chan struct{}),
		some: make(chan struct{}, 1), much: make(chan struct{}, 1), room: make(chan struct{}, 1),
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

// put has changes written, in order. It waits while too many others do.
func (w *writer) put(changes []change) error {
	for {
		w.mu.Lock()
		if w.err != nil || len(w.waiting) < maxWaiting {
			break
		}
		w.mu.Unlock()
		select {
		case <-w.room:
		case <-w.ended:
		}
	}
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.waiting = append(w.waiting, changes...)
	signal(w.some)
	if len(w.waiting) >= writeSoon {
		signal(w.much)
	}
	return nil
}

func (w *writer) run() {
	defer close(w.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for closing := false; !closing; {
		select {
		case <-w.some:
		case <-w.closing:
		}
		timer.Reset(writeInterval)
		select {
		case <-timer.C:
		case <-w.much:
		case <-w.closing:
			closing = true
		}
		if err := w.write(); err != nil {
			w.failed(err)
			return
		}
	}
}

// write commits what is waiting.
func (w *writer) write() error {
	w.mu.Lock()
	changes := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	signal(w.room)
	if len(changes) == 0 {
		return nil
	}
	err := w.file.commit(changes)
	if err == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = fmt.Errorf("write state file %s: %w", w.file.path, err)
	return w.err
}

func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// close writes what is left.
func (w *writer) close() error {
	close(w.closing)
	<-w.ended
	return w.failure()
}

// commit writes changes all together or not at all, and syncs them to the disk.
func (f *File) commit(changes []change) error {
	return f.db.Update(func(tx *bolt.Tx) error {
		targets, err := tx.CreateBucketIfNotExists(targetsBucket)
		if err != nil {
			return err
		}
		objects := map[*saved]*bolt.Bucket{}
		for _, c := range changes {
			if c.about != nil {
				err = c.target.write(targets, c.about)
			} else {
				err = c.apply(targets, objects)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *saved) write(targets *bolt.Bucket, a *about) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	b, err := targets.CreateBucketIfNotExists(s.key)
	if err != nil {
		return err
	}
	_, err = b.CreateBucketIfNotExists(objectsBucket)
	return errors.Join(err, b.Put(aboutKey, text))
}

func (c change) apply(targets *bolt.Bucket, objects map[*saved]*bolt.Bucket) error {
	b := objects[c.target]
	if b == nil {
		b = targets.Bucket(c.target.key).Bucket(objectsBucket)
		b.FillPercent = 0.9 // they come in the order of their keys, at first
		objects[c.target] = b
	}
	if c.value == nil {
		return b.Delete(c.key)
	}
	return b.Put(c.key, c.value)
}
