package deliver

import (
	"bytes"
	"context"
	"slices"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// Deliver implements event.Sink. It returns once all events of the batch wait or are delivered. Status events are not sent. A batch is
// stored as a whole if there is any room in the Store, even if it exceeds the limit.
func (q *Queue) Deliver(ctx context.Context, batch []event.Event) error {
	together := 1
	if q.Store != nil {
		together = max(len(batch), 1)
	}
	for events := range slices.Chunk(batch, together) {
		if err := q.accept(ctx, events); err != nil {
			return err
		}
	}
	return nil
}

// accept adds events to the schedule together. The items that they replace are not sent in the meantime.
func (q *Queue) accept(ctx context.Context, events []event.Event) error {
	q.schedule.awaitRoom(ctx)
	b := bundle{queue: q}
	if q.LatestOnly {
		b.last = map[key]*entry{}
		defer q.schedule.releaseHolds()
	}
	for i := range events {
		if e := &events[i]; !e.Type.IsStatus() {
			if err := b.add(e); err != nil {
				return err
			}
		}
	}
	if q.Store != nil && len(b.entries) > 0 {
		if err := b.store(); err != nil {
			return err
		}
	}
	q.schedule.enter(b.entries...)
	return nil
}

// put adds a message to the schedule once there is room.
func (q *Queue) put(ctx context.Context, m *Message) {
	q.schedule.awaitRoom(ctx)
	m.queued = time.Now()
	q.schedule.enter(&entry{key: m.key(), item: q.itemOf(m, nil)})
}

// Restore schedules all messages in the Store with their original times, and returns their number. It must be called first.
func (q *Queue) Restore() (n int, err error) {
	if q.Store == nil {
		return 0, nil
	}
	err = q.Store.Each(func(number uint64, record []byte) error {
		m, _, err := decodeHead(record)
		if err != nil {
			return err
		}
		it := q.itemOf(m, record)
		it.number = number
		it.queued = min(it.queued, 0) // the clock may have been set back
		q.schedule.enter(&entry{key: m.key(), item: it})
		n++
		return nil
	})
	return n, err
}

// overhead is the approximate memory of a message without its body.
const overhead = 1 << 10

// itemOf returns the item for a message. If record is not nil, the message is in the Store.
func (q *Queue) itemOf(m *Message, record []byte) item {
	it := item{message: m, size: int64(len(m.Body)) + overhead, queued: q.schedule.momentOf(m.queued)}
	if record != nil {
		it.message, it.size = nil, int64(len(record))
	}
	if q.LatestOnly {
		it.seen = &seen{uid: uidOf(m.Cluster, m.Resource.GroupResource(), &m.Identity), kind: m.Type, initial: m.initial}
	}
	return it
}

// bundle collects the entries of one call of accept.
type bundle struct {
	queue   *Queue
	entries []*entry
	last    map[key]*entry // the last entry of each object; only with Options.LatestOnly
}

type entry struct {
	key      key
	item     item
	record   []byte // for the Store
	replaces *item  // the waiting item that it replaces, or nil
	merged   int    // number of events that it replaces
}

func (b *bundle) add(e *event.Event) error {
	q := b.queue
	k := keyOf(e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Identity)
	one := &entry{key: k}
	if q.LatestOnly {
		one, e = b.merge(k, e)
	}
	body, err := q.Encode(q.body[:0], *e)
	if err != nil || len(body) == 0 {
		return err
	}
	if b.last[k] != one {
		b.entries = append(b.entries, one)
	}
	if q.LatestOnly {
		b.last[k] = one
	}
	if q.body = body; q.Store == nil {
		body = bytes.Clone(body)
	}
	m := newMessage(e, body, output.EscapeLine(q.Subject(*e)))
	m.queued = time.Now()
	if q.Source != nil {
		m.Source = q.Source(m.Cluster)
	}
	if q.Store != nil {
		one.record = q.codec.encode(m)
	}
	one.item = q.itemOf(m, one.record)
	return nil
}

// merge returns the entry for an event, and the event to encode. The entry may replace the last entry of the object in the bundle, or
// a waiting item, which is not sent until releaseHolds.
func (b *bundle) merge(k key, e *event.Event) (*entry, *event.Event) {
	one, inBundle := b.last[k]
	if !inBundle {
		one = &entry{key: k}
		if waits, found := b.queue.schedule.hold(k); found {
			one.item, one.replaces = waits, &waits
		}
	}
	if merged, isMerged := one.item.seen.merged(e); isMerged {
		one.merged++
		return one, &merged
	}
	return &entry{key: k}, e
}

// store adds the bundle to the Store.
func (b *bundle) store() error {
	var records [][]byte
	var forget []uint64
	for _, one := range b.entries {
		records = append(records, one.record)
		if one.replaces != nil {
			forget = append(forget, one.replaces.number)
		}
	}
	first, err := b.queue.Store.Add(records, forget)
	for i, one := range b.entries {
		one.item.number = first + uint64(i)
	}
	return err
}
