package deliver

import (
	"bytes"
	"context"
	"slices"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// Deliver implements event.Sink. It returns when all of batch waits, or is delivered. Marks are not
// sent. What goes into a Store goes there as a whole: it may take more than the room that is left,
// but not when there is none.
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

// accept has events wait, together. What they take the place of is not sent meanwhile.
func (q *Queue) accept(ctx context.Context, events []event.Event) error {
	q.schedule.awaitRoom(ctx)
	b := bundle{queue: q}
	if q.LatestOnly {
		b.last = map[key]*entry{}
		defer q.schedule.letGo()
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

// put has a message wait, when there is room.
func (q *Queue) put(ctx context.Context, m *Message) {
	q.schedule.awaitRoom(ctx)
	m.queued = time.Now()
	q.schedule.enter(&entry{key: m.key(), item: q.itemOf(m, nil)})
}

// Restore makes all that is in the Store wait, as it did when it came, and returns how much that
// is. It is called before all else.
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

// overhead is what a message takes beside its body, in memory.
const overhead = 1 << 10

// itemOf returns a message as what waits: in memory, or of a record only what is in it.
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

// bundle is what is about to wait.
type bundle struct {
	queue   *Queue
	entries []*entry
	last    map[key]*entry // of each object; only for Options.Latest
}

type entry struct {
	key      key
	item     item
	record   []byte // for the Store
	replaces *item  // what waits, and whose place it takes; nil: nothing
	merged   int    // how often it took the place of another one
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

// merge returns the entry that an event becomes, and what the event is there: it may take the place
// of the last of the bundle, or of what waits, which is not sent until letGo.
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

// store puts all of the bundle into the Store.
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
