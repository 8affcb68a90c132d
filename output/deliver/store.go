package deliver

import "time"

// Store keeps what waits where it outlives the process. A record is one message.
type Store interface {
	// Add keeps records and forgets others, all or none, and returns when that is safe.
	// The first record has the number that it returns, and each other one the next.
	Add(records [][]byte, forget []uint64) (first uint64, err error)
	Record(number uint64) ([]byte, error)
	// Remove forgets a record. It does not wait until that is safe: a later run may have it again.
	Remove(number uint64)
	// Each calls take with each record, in the order in which they came. take does not keep it.
	Each(take func(number uint64, record []byte) error) error
}

// item is what waits: of a message in the Store only what decides what becomes of it. There may be
// very many.
type item struct {
	message *Message // nil: it is in the Store
	number  uint64   // there
	size    int64    // what it takes of the room
	queued  moment   // when it came
	seen    *seen    // only for Options.Latest
}

// moment is a time, as what has passed since the Queue was made. It may be negative.
type moment time.Duration
