package deliver

import "time"

// Store contains waiting messages and outlives the process. A record is an encoded message.
type Store interface {
	// Add adds records and removes the records in forget in one transaction, and returns once that is durable. The added records
	// get consecutive numbers. first is the first of them.
	Add(records [][]byte, forget []uint64) (first uint64, err error)
	// Record returns the record with a number.
	Record(number uint64) ([]byte, error)
	// Remove removes a record. It does not wait until that is durable, so a later run may find the record again.
	Remove(number uint64)
	// Each calls take with each record in the order of their numbers. take must not retain the record.
	Each(take func(number uint64, record []byte) error) error
}

// item is a waiting message. There may be very many.
type item struct {
	message *Message // nil if the message is in the Store
	number  uint64   // of the record in the Store
	size    int64    // counts for Options.MaxBytes
	queued  moment   // when the Queue accepted the event
	seen    *seen    // only with Options.LatestOnly
}

// moment is a time, as the duration since the Queue was created. It may be negative.
type moment time.Duration
