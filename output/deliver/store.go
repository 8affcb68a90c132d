package deliver

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// Store keeps what waits where it outlives the process. A record is one message.
type Store interface {
	// Add keeps records and forgets others, all or none, and returns when that is safe.
	// The first record has the number that it returns, and each other one the next.
	Add(records [][]byte, forget []uint64) (first uint64, err error)
	// Record returns a record.
	Record(number uint64) ([]byte, error)
	// Remove forgets a record. It does not wait until that is safe: a later run may
	// have it again.
	Remove(number uint64)
	// Each calls take with each record, in the order in which they came. take does not
	// keep it.
	Each(take func(number uint64, record []byte) error) error
}

// item is what waits: of a message in the Store only what decides what becomes of it.
// There may be very many.
type item struct {
	message *Message // nil: it is in the Store
	number  uint64   // there
	size    int64    // what it takes of the room
	queued  moment   // when it came
	seen    *seen    // only for Options.Latest
}

// moment is a time, as what has passed since the Queue was made. It may be negative.
type moment time.Duration

func (q *Queue) momentOf(t time.Time) moment { return moment(t.Sub(q.made)) }

// since returns how long ago a moment is.
func (q *Queue) since(m moment) time.Duration { return time.Since(q.made) - time.Duration(m) }

// seen is what a receiver sees of a message, as far as that decides which other ones may
// take its place.
type seen struct {
	uid     string
	kind    event.Type
	initial bool
}

// Restore makes all that is in the Store wait, as it did when it came. It is called
// before all else. It returns how much that is.
func (q *Queue) Restore() (n int, err error) {
	if q.Store == nil {
		return 0, nil
	}
	err = q.Store.Each(func(number uint64, record []byte) error {
		m, _, err := decodeHead(record)
		if err != nil {
			return err
		}
		it := q.itemOf(m)
		it.message, it.number, it.size = nil, number, int64(len(record))
		it.queued = min(it.queued, 0) // the clock may have been set back
		q.mu.Lock()
		defer q.mu.Unlock()
		q.add(m.key(), it)
		n++
		return nil
	})
	return n, err
}

// itemOf returns a message as what waits in memory.
func (q *Queue) itemOf(m *Message) item {
	it := item{message: m, size: m.size, queued: q.momentOf(m.queued)}
	if q.Latest {
		it.seen = &seen{uid: uidOf(m.Resource.GroupResource(), &m.Identity), kind: m.Type, initial: m.initial}
	}
	return it
}

// open returns the message of an item.
func (q *Queue) open(it item) (*Message, error) {
	if it.message != nil {
		return it.message, nil
	}
	record, err := q.Store.Record(it.number)
	if err != nil {
		return nil, err
	}
	m, err := q.codec.decode(record)
	if err != nil {
		return nil, fmt.Errorf("read what waits for %s: %w (number %d)", q.Name, err, it.number)
	}
	return m, nil
}

// message returns an event as a message. If there is a Store, the body is there until the
// next call.
func (q *Queue) message(e *event.Event) (*Message, error) {
	body, err := q.Encode(q.body[:0], *e)
	if err != nil {
		return nil, err
	}
	if q.body = body; q.Store == nil {
		body = bytes.Clone(body)
	}
	m := newMessage(e, body, output.Line(q.Subject(*e)))
	m.queued = time.Now()
	return m, nil
}

// bundle are the messages of a batch that are about to be put into the Store.
type bundle struct {
	keys    []key
	items   []item
	records [][]byte
	// replaced are the numbers of the records whose place others take, by the place of
	// those; last are the places of the last messages. Both are only for Options.Latest.
	replaced map[int]uint64
	last     map[key]int
	merged   int // with others of the bundle
}

// deliverStored puts a batch into the Store as a whole, and then has it sent. So it may
// take more than the room that is left, but not when there is none.
func (q *Queue) deliverStored(ctx context.Context, batch []event.Event) error {
	q.awaitRoom(ctx, 1)
	b := &bundle{replaced: map[int]uint64{}, last: map[key]int{}}
	if q.Latest {
		defer q.letGo()
	}
	for i := range batch {
		if e := &batch[i]; !e.Type.IsMark() {
			if err := q.collect(b, e); err != nil {
				return err
			}
		}
	}
	if len(b.items) == 0 {
		return nil
	}
	var forget []uint64
	for _, number := range b.replaced {
		forget = append(forget, number)
	}
	first, err := q.Store.Add(b.records, forget)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done.merged += b.merged
	for i, it := range b.items {
		it.number = first + uint64(i)
		if _, merged := b.replaced[i]; merged {
			q.replaceLast(b.keys[i], it)
		} else {
			q.add(b.keys[i], it)
		}
	}
	return nil
}

// collect adds an event to a bundle.
func (q *Queue) collect(b *bundle, e *event.Event) error {
	if q.Latest {
		if done, err := q.collectMerged(b, e); done || err != nil {
			return err
		}
	}
	m, err := q.message(e)
	if err != nil {
		return err
	}
	q.setIn(b, b.place(m.key()), m)
	return nil
}

// place returns a new place for a message of an object, which is its last one then.
func (b *bundle) place(k key) int {
	place := len(b.items)
	b.keys, b.items, b.records = append(b.keys, k), append(b.items, item{}), append(b.records, nil)
	b.last[k] = place
	return place
}

// setIn puts a message at a place of a bundle.
func (q *Queue) setIn(b *bundle, place int, m *Message) {
	record := q.codec.encode(m)
	it := q.itemOf(m)
	it.message, it.size = nil, int64(len(record))
	b.items[place], b.records[place] = it, record
}
