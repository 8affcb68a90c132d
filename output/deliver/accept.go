package deliver

import (
	"bytes"
	"context"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// Deliver implements event.Sink. It returns when all of batch waits, or is delivered.
// Marks are not sent. What goes into a Store goes there as a whole: it may take more than
// the room that is left, but not when there is none.
func (q *Queue) Deliver(ctx context.Context, batch []event.Event) error {
	if q.Store != nil {
		return q.accept(ctx, batch)
	}
	for i := range batch {
		if err := q.accept(ctx, batch[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// accept has events wait, together. What they take the place of is not sent meanwhile.
func (q *Queue) accept(ctx context.Context, events []event.Event) error {
	q.room.await(ctx)
	b := &bundle{queue: q}
	if q.Latest {
		b.last = map[key]int{}
		defer q.letGo()
	}
	for i := range events {
		if e := &events[i]; !e.Type.IsMark() {
			if err := b.add(e); err != nil {
				return err
			}
		}
	}
	if len(b.entries) == 0 {
		return nil
	}
	return b.enter()
}

func (q *Queue) letGo() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.schedule.letGo()
}

// put has a message wait, when there is room.
func (q *Queue) put(ctx context.Context, m *Message) {
	q.room.await(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	m.queued = time.Now()
	q.add(m.key(), q.itemOf(m))
}

func (q *Queue) add(k key, it item) {
	q.room.take(it.size)
	q.schedule.add(k, it)
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
	it := item{message: m, size: m.size, queued: q.schedule.momentOf(m.queued)}
	if q.Latest {
		it.seen = &seen{uid: uidOf(m.Resource.GroupResource(), &m.Identity), kind: m.Type, initial: m.initial}
	}
	return it
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

// bundle is what is about to wait.
type bundle struct {
	queue   *Queue
	entries []entry
	last    map[key]int // the place of the last entry of each object; only for Options.Latest
	merged  int         // with others of the bundle
}

type entry struct {
	key      key
	item     item
	record   []byte // for the Store
	replaces *item  // what waits, and whose place it takes; nil: nothing
}

// add adds an event.
func (b *bundle) add(e *event.Event) error {
	q := b.queue
	k := keyOf(e.Target.Resource().GroupResource(), e.Object.Identity)
	at, replaces := len(b.entries), (*item)(nil)
	if q.Latest {
		at, e, replaces = b.merge(k, e)
	}
	m, err := q.message(e)
	if err != nil {
		return err
	}
	one := entry{key: k, item: q.itemOf(m), replaces: replaces}
	if q.Store != nil {
		one.record = q.codec.encode(m)
		one.item.message, one.item.size = nil, int64(len(one.record))
	}
	if at == len(b.entries) {
		b.entries = append(b.entries, one)
	} else {
		b.entries[at] = one
	}
	return nil
}

// merge returns at which place an event comes into the bundle, what it is there, and whose
// place it takes of what waits. That is not sent until letGo.
func (b *bundle) merge(k key, e *event.Event) (at int, _ *event.Event, replaces *item) {
	at, inBundle := b.last[k]
	b.last[k] = len(b.entries)
	var waits item
	var found bool
	if inBundle {
		waits, found = b.entries[at].item, true
	} else {
		waits, found = b.hold(k)
	}
	if found {
		merged, isMerged := waits.seen.merged(e)
		switch {
		case isMerged && inBundle:
			b.last[k] = at
			b.merged++
			return at, &merged, b.entries[at].replaces
		case isMerged:
			return len(b.entries), &merged, &waits
		}
	}
	return len(b.entries), e, nil
}

func (b *bundle) hold(k key) (item, bool) {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	return b.queue.schedule.hold(k)
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
	for i := range b.entries {
		b.entries[i].item.number = first + uint64(i)
	}
	return err
}

// enter has all of the bundle wait.
func (b *bundle) enter() error {
	q := b.queue
	if q.Store != nil {
		if err := b.store(); err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done.Merged += b.merged
	for _, one := range b.entries {
		if one.replaces == nil {
			q.add(one.key, one.item)
			continue
		}
		q.done.Merged++
		q.room.take(one.item.size)
		q.room.leave(q.schedule.replaceLast(one.key, one.item).size)
	}
	return nil
}
