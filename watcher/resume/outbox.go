package resume

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

var (
	outboxBucket = []byte("outbox")
	encodingKey  = []byte("encoding") // in the header: how the records are encoded
)

// removeSoon is how many removed records do not wait for commitInterval: their pages are in memory
// while they are taken out.
const removeSoon = 1 << 10

// releaseReads is after how many records what was read is given back: more often would be slow.
const releaseReads = 4 * releaseKeys

// Outbox is what waits for a receiver, in the file: records, of which it knows only their numbers.
// A record is there if, and only if, what it says counts as reported.
//
// Add is called by the Sink behind the Stage while that has a batch, and at most once for each. The
// other methods may be called at any time until the Stage is closed.
type Outbox struct {
	file  *File
	stage *Stage

	mu      sync.Mutex
	removed []uint64 // and still in the file
	due     *time.Timer

	read atomic.Int64 // how many records were
}

// Outbox returns the outbox of the file, which is made if there is none. encoding is how its
// records are encoded; if something waits, it has to be encoded in that way.
func (f *File) OpenOutbox(encoding string) (*Outbox, error) {
	err := f.update(func(tx *bolt.Tx) error {
		if err := checkEncoding(tx, encoding); err != nil {
			return err
		}
		if _, err := tx.CreateBucketIfNotExists(outboxBucket); err != nil {
			return err
		}
		return errors.Join(tx.Bucket(headerBucket).Put(encodingKey, []byte(encoding)), writeFormat(tx))
	})
	if err != nil {
		return nil, f.named(err)
	}
	f.outbox = &Outbox{file: f}
	return f.outbox, nil
}

// CheckEncoding returns the error that Outbox would return now.
func (f *File) CheckOutboxEncoding(encoding string) error {
	return f.named(f.view(func(tx *bolt.Tx) error { return checkEncoding(tx, encoding) }))
}

func checkEncoding(tx *bolt.Tx, encoding string) error {
	if before := encodingOf(tx); before != "" && before != encoding {
		return fmt.Errorf("%s in it for a receiver, as %s: go on with -o %[2]s, or delete it to start over", waiting(tx), before)
	}
	return nil
}

// WithoutOutbox says that there is no receiver, for whom nothing may wait.
func (f *File) RemoveOutbox() error {
	if !f.HadReceiver() {
		return nil
	}
	return f.named(f.update(func(tx *bolt.Tx) error {
		if encodingOf(tx) != "" {
			return fmt.Errorf("%s in it for a receiver: go on with one until nothing waits, or delete the file to start over", waiting(tx))
		}
		return errors.Join(tx.DeleteBucket(outboxBucket), tx.Bucket(headerBucket).Delete(encodingKey), writeFormat(tx))
	}))
}

// HadReceiver reports, before Outbox is asked for, whether the last run had a receiver.
func (f *File) HadReceiver() (had bool) {
	f.view(func(tx *bolt.Tx) error { // has no error of its own
		had = tx.Bucket(outboxBucket) != nil
		return nil
	})
	return had
}

// encodingOf returns how what waits is encoded; empty if nothing waits.
func encodingOf(tx *bolt.Tx) string {
	if b := tx.Bucket(outboxBucket); b != nil {
		if first, _ := b.Cursor().First(); first != nil {
			return string(tx.Bucket(headerBucket).Get(encodingKey))
		}
	}
	return ""
}

func waiting(tx *bolt.Tx) string {
	defer release(tx)
	n := tx.Bucket(outboxBucket).Stats().KeyN
	if n == 1 {
		return "1 event waits"
	}
	return fmt.Sprintf("%d events wait", n)
}

// Add adds records, takes out others, and returns when that is on the disk, with all that was
// reported. The first record has the number that it returns, and each of the others the next one.
func (o *Outbox) Add(records [][]byte, remove []uint64) (first uint64, err error) {
	s := o.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, s.entering...)
	s.entering = nil
	if s.err == nil {
		first = s.commitLocked(commitment{entered: records, left: remove})
	}
	return first, s.err
}

// Remove takes out a record, soon: a process that is killed before that leaves it.
func (o *Outbox) Remove(number uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removed = append(o.removed, number)
	switch {
	case o.due == nil:
		o.due = time.AfterFunc(commitInterval, o.stage.commitDue)
	case len(o.removed) == removeSoon:
		o.due.Reset(0)
	}
}

func (o *Outbox) takeRemoved() []uint64 {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.due != nil {
		o.due.Stop()
		o.due = nil
	}
	removed := o.removed
	o.removed = nil
	return removed
}

func (o *Outbox) Record(number uint64) (record []byte, err error) {
	err = o.file.view(func(tx *bolt.Tx) error {
		record = bytes.Clone(tx.Bucket(outboxBucket).Get(numberKey(number)))
		if o.read.Add(1)%releaseReads == 0 {
			release(tx)
		}
		return nil
	})
	if err == nil && record == nil {
		err = damaged(fmt.Sprintf("event %d is not there", number))
	}
	if err != nil {
		err = fmt.Errorf("read state file %s: %w", o.file.path, err)
	}
	return record, err
}

// Each calls take with all records in their order. They may not be kept.
func (o *Outbox) Each(take func(number uint64, record []byte) error) error {
	return o.file.named(o.file.view(func(tx *bolt.Tx) error {
		return eachKey(tx.Bucket(outboxBucket), func(key, record []byte) error {
			if len(key) != 8 {
				return damaged(fmt.Sprintf("at %q", key))
			}
			if err := take(binary.BigEndian.Uint64(key), record); err != nil {
				return damaged(err)
			}
			return nil
		})
	}))
}

// numberKey is such that records are in the order of their numbers.
func numberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// writeOutbox returns the number of the first record that is new.
func writeOutbox(tx *bolt.Tx, added [][]byte, removed []uint64) (first uint64, err error) {
	if len(added)+len(removed) == 0 {
		return 0, nil
	}
	b := tx.Bucket(outboxBucket)
	b.FillPercent = 1 // what comes new is behind all else
	for i, number := range removed {
		releaseNow(tx, i)
		if err := b.Delete(numberKey(number)); err != nil {
			return 0, err
		}
	}
	for i, record := range added {
		number, err := b.NextSequence()
		if err != nil {
			return 0, err
		}
		if i == 0 {
			first = number
		}
		if err := b.Put(numberKey(number), record); err != nil {
			return 0, err
		}
	}
	return first, nil
}
