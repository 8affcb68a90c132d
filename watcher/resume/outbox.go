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
	encodingKey  = []byte("encoding") // in the header bucket: the encoding of the records
)

// removeSoon is the number of removed records that are committed without waiting for
// commitInterval. It limits the memory for their pages.
const removeSoon = 1 << 10

// releaseReads is the number of records after which memory is released. Releasing it more often
// would be slow.
const releaseReads = 4 * releaseKeys

// Outbox contains the records for a receiver, in the file. A record is added in the transaction after
// which its events count as reported, and stays until it is removed.
//
// The Sink downstream of the Stage calls Add during Deliver, at most once per batch. The other
// methods may be called at any time until the Stage is closed.
type Outbox struct {
	file  *File
	stage *Stage

	mu      sync.Mutex
	removed []uint64 // not yet removed from the file
	due     *time.Timer

	read atomic.Int64 // number of records that were read
}

// OpenOutbox opens or creates the outbox of the file. encoding is the encoding of its records. If
// records are waiting, they must have the same one.
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
		return nil, f.wrapError(err)
	}
	f.outbox = &Outbox{file: f}
	return f.outbox, nil
}

// CheckOutboxEncoding returns an error if records with another encoding are waiting, as OpenOutbox
// would. It changes nothing.
func (f *File) CheckOutboxEncoding(encoding string) error {
	return f.wrapError(f.view(func(tx *bolt.Tx) error { return checkEncoding(tx, encoding) }))
}

func checkEncoding(tx *bolt.Tx, encoding string) error {
	if before := encodingOf(tx); before != "" && before != encoding {
		return fmt.Errorf("%s in it for a receiver, encoded as %s: use -o %[2]s, or delete the file to start over", waiting(tx), before)
	}
	return nil
}

// RemoveOutbox removes the outbox for a run without a receiver. It returns an error if records are
// waiting.
func (f *File) RemoveOutbox() error {
	if !f.HadReceiver() {
		return nil
	}
	return f.wrapError(f.update(func(tx *bolt.Tx) error {
		if encodingOf(tx) != "" {
			return fmt.Errorf("%s in it for a receiver: use one until all are delivered, or delete the file to start over", waiting(tx))
		}
		return errors.Join(tx.DeleteBucket(outboxBucket), tx.Bucket(headerBucket).Delete(encodingKey), writeFormat(tx))
	}))
}

// HadReceiver reports whether the last run had a receiver. Call it before OpenOutbox.
func (f *File) HadReceiver() (had bool) {
	f.view(func(tx *bolt.Tx) error { // returns no error
		had = tx.Bucket(outboxBucket) != nil
		return nil
	})
	return had
}

// encodingOf returns the encoding of the waiting records, or an empty string if there are none.
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
		return "1 event is waiting"
	}
	return fmt.Sprintf("%d events are waiting", n)
}

// Add adds records and removes others, in one transaction with everything that was reported, and
// waits for the disk. It returns the number of the first record. The others have the following
// numbers.
func (o *Outbox) Add(records [][]byte, remove []uint64) (first uint64, err error) {
	s := o.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, s.withOutbox...)
	s.withOutbox = nil
	if s.err == nil {
		first = s.commitLocked(transaction{added: records, removed: remove})
	}
	return first, s.err
}

// Remove removes a record within a second. If the process is killed before that, the record
// remains.
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

// Record returns a record.
func (o *Outbox) Record(number uint64) (record []byte, err error) {
	err = o.file.view(func(tx *bolt.Tx) error {
		record = bytes.Clone(tx.Bucket(outboxBucket).Get(numberKey(number)))
		if o.read.Add(1)%releaseReads == 0 {
			release(tx)
		}
		return nil
	})
	if err == nil && record == nil {
		err = damaged(fmt.Sprintf("event %d is missing", number))
	}
	if err != nil {
		err = fmt.Errorf("read state file %s: %w", o.file.path, err)
	}
	return record, err
}

// Each calls yield with all records in order. yield must not retain them. Its error means that a
// record is damaged, and ends the iteration.
func (o *Outbox) Each(yield func(number uint64, record []byte) error) error {
	return o.file.wrapError(o.file.view(func(tx *bolt.Tx) error {
		return eachKey(tx.Bucket(outboxBucket), func(key, record []byte) error {
			if len(key) != 8 {
				return damaged(fmt.Sprintf("at %q", key))
			}
			if err := yield(binary.BigEndian.Uint64(key), record); err != nil {
				return damaged(err)
			}
			return nil
		})
	}))
}

// numberKey returns the key of a record. The order of keys is the order of numbers.
func numberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// writeOutbox adds and removes records, and returns the number of the first added one.
func writeOutbox(tx *bolt.Tx, added [][]byte, removed []uint64) (first uint64, err error) {
	if len(added)+len(removed) == 0 {
		return 0, nil
	}
	b := tx.Bucket(outboxBucket)
	b.FillPercent = 1 // new records are always last
	for i, number := range removed {
		releasePeriodically(tx, i)
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
