package broadcast

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"dwatch/watcher/event"
)

// DefaultMaxBytes is the default size of a Subscriber's buffer.
const DefaultMaxBytes = 8 << 20

// Options configures a Subscriber.
type Options struct {
	// Targets are the targets whose events it receives. If AllTargets is true, it also receives the
	// events of all others.
	Targets    []event.Target
	AllTargets bool
	// History returns what earlier runs reported. It is called once for each of Targets. nil means
	// that there is no history.
	History event.HistoryFunc
	// KeepContent retains the content of objects, for Event.Old.
	KeepContent bool
	MaxBytes    int64 // size of the buffer; zero means DefaultMaxBytes
	// FallbackWatch watches for this Subscriber after it was detached, until ctx ends. Its targets
	// are the current ones of the Subscriber. It may add others.
	FallbackWatch WatchFunc
	// OnDetached is called when the buffer is full and the Subscriber is detached. It may be nil.
	OnDetached func()
}

// WatchFunc watches targets for one Subscriber. sink receives the events of a watch with this
// history. The watch must call history in the goroutine that calls sink.
type WatchFunc func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error

// Subscriber is one of the consumers that share a watch.
type Subscriber struct {
	Options
	next    event.Sink
	keys    map[event.Key]bool // of Targets
	ledgers *ledgers           // used only by the goroutine that delivers

	first   WatchFunc // nil if it has been in its Broadcaster from the start
	reached reached   // by first; used only by the goroutine that delivers

	ready, freed chan struct{} // have a signal if the buffer has batches, or may have space

	mu       sync.Mutex
	buffer   [][]event.Event // batches, which subscribers may share
	bytes    int64
	blocked  bool // next waits for another process
	joining  bool // first is running
	detached bool
	closed   bool
}

// NewSubscriber returns a Subscriber for next. It returns errors of History.
func NewSubscriber(next event.Sink, o Options) (*Subscriber, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	b := &Subscriber{
		Options: o, next: next, ledgers: newLedgers(o.KeepContent), keys: map[event.Key]bool{},
		ready: make(chan struct{}, 1), freed: make(chan struct{}, 1),
	}
	for _, t := range o.Targets {
		b.keys[t.Key()] = true
		if o.History == nil {
			b.ledgers.get(t)
			continue
		}
		if err := b.ledgers.restore(t, o.History); err != nil {
			return nil, err
		}
	}
	b.Options.History = nil // allows the memory of another Subscriber to be freed
	return b, nil
}

// Receives reports whether the Subscriber receives the events of t.
func (b *Subscriber) Receives(t event.Target) bool { return b.AllTargets || b.keys[t.Key()] }

// SetBlocked says whether the Subscriber's Sink waits for another process during Deliver.
func (b *Subscriber) SetBlocked(blocked bool) {
	b.mu.Lock()
	b.blocked = blocked
	b.mu.Unlock()
	signal(b.freed)
}

// IsAttached reports whether the Subscriber receives the batches of its Broadcaster, because it was
// not detached.
func (b *Subscriber) IsAttached() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.detached
}

func (b *Subscriber) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	signal(b.ready)
	signal(b.freed)
}

// enqueue adds a batch to the buffer, and returns when there is space for another one or the
// Subscriber was detached.
func (b *Subscriber) enqueue(ctx context.Context, batch []event.Event, isShared func() bool) {
	if !b.put(batch) {
		return
	}
	for !b.hasRoom() {
		if isShared() && b.detachIfBlocked() {
			if b.OnDetached != nil {
				b.OnDetached()
			}
			return
		}
		select {
		case <-b.freed:
		case <-ctx.Done(): // the remaining batches of the watch are few
			return
		}
	}
}

// put adds the events of batch for this Subscriber to the buffer. It returns false if there are
// none. batch must not be changed any more.
func (b *Subscriber) put(batch []event.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.detached || b.closed {
		return false
	}
	batch = b.own(batch)
	if len(batch) == 0 {
		return false
	}
	b.buffer = append(b.buffer, batch)
	for i := range batch {
		b.bytes += sizeOf(&batch[i])
	}
	signal(b.ready)
	return true
}

// own returns the events of batch for this Subscriber. If these are all, it returns batch itself.
func (b *Subscriber) own(batch []event.Event) []event.Event {
	isOwn := func(e *event.Event) bool { return e.Type == event.Heartbeat || b.Receives(e.Target) }
	var some []event.Event
	all := true
	for i := range batch {
		switch mine := isOwn(&batch[i]); {
		case mine && !all:
			some = append(some, batch[i])
		case !mine && all:
			some, all = slices.Clone(batch[:i]), false
		}
	}
	if all {
		return batch
	}
	return some
}

// overhead is the size of an event without its object.
const overhead = 512

func sizeOf(e *event.Event) int64 {
	if e.Type.IsStatus() {
		return overhead
	}
	return overhead + int64(len(e.Object.Raw()))
}

func (b *Subscriber) hasRoom() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes < b.MaxBytes || b.closed
}

// detachIfBlocked detaches the Subscriber if it is blocked or its first watch is running.
func (b *Subscriber) detachIfBlocked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.blocked && !b.joining {
		return false
	}
	b.detachLocked()
	return true
}

// endJoining records that first has ended. The buffered batches assume that all existing objects
// have been reported. If they have not, the Subscriber is detached.
func (b *Subscriber) endJoining() {
	isComplete := b.ledgers.isComplete()
	b.mu.Lock()
	b.joining = false
	if !isComplete {
		b.detachLocked()
	}
	b.mu.Unlock()
	signal(b.freed)
}

// detachLocked detaches the Subscriber and discards its buffer. b.mu must be held.
func (b *Subscriber) detachLocked() {
	b.detached, b.buffer, b.bytes = true, nil, 0
	signal(b.ready)
}

// takeAll removes and returns the buffered batches, and whether the Subscriber was detached or
// closed.
func (b *Subscriber) takeAll() (waiting [][]event.Event, dropped, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting = b.buffer
	b.buffer, b.bytes = nil, 0
	signal(b.freed)
	return waiting, b.detached, b.closed
}

// Run delivers until the Broadcaster is closed or the Subscriber is removed. It returns an error of
// the Sink or of a watch. Run may be called only once.
func (b *Subscriber) Run(ctx context.Context) error {
	if b.first != nil {
		err := b.first(ctx, b, b.Targets, b.ledgers.emptyHistory)
		b.endJoining()
		if err != nil {
			return err
		}
	}
	for {
		<-b.ready // also signaled by close
		waiting, dropped, closed := b.takeAll()
		if err := b.deliver(ctx, b.reached.missing(waiting)...); err != nil {
			return err
		}
		switch {
		case dropped && ctx.Err() == nil:
			b.reached = nil
			return b.FallbackWatch(ctx, b, b.ledgers.prepareFallback(), b.ledgers.history)
		case dropped, closed:
			return nil
		}
	}
}

// Deliver implements event.Sink for the Subscriber's own watches.
func (b *Subscriber) Deliver(ctx context.Context, batch []event.Event) error {
	b.reached.note(batch)
	return b.deliver(ctx, batch)
}

// deliver delivers batches as one batch.
func (b *Subscriber) deliver(ctx context.Context, batches ...[]event.Event) error {
	events := b.ledgers.eventsFor(batches...)
	if len(events) == 0 {
		return nil
	}
	return b.next.Deliver(ctx, events)
}

// History is an event.HistoryFunc of the delivered events, for a Subscriber that replaces this one.
// Run must have returned.
func (b *Subscriber) History(t event.Target, yield func(event.ReportedObject)) (complete bool, err error) {
	return b.ledgers.history(t, yield)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already waiting
	}
}
