package broadcast

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"dwatch/watcher/event"
)

// DefaultRoom is how many bytes wait for a Branch by default.
const DefaultMaxBytes = 8 << 20

// Options of a Branch.
type Options struct {
	// Targets are those that it gets. All: it gets what comes besides, too.
	Targets    []event.Target
	AllTargets bool
	// Past is what earlier runs reported, which is asked once for each of Targets; nil: nothing is known.
	History event.HistoryFunc
	// Keep keeps the content of objects, for Event.Old.
	KeepContent bool
	MaxBytes    int64 // how many bytes may wait; 0: DefaultRoom
	// Alone watches for this Branch, once it was dropped from its Fan, until ctx ends: targets, which are those that it
	// gets by then, and what comes besides.
	FallbackWatch WatchFunc
	// Dropped is called when too much waits for it, and it is dropped; nil: nobody is told.
	OnDetached func()
}

// Watch watches targets for one Branch. sink gets what a watch with that past gets, which is asked by the goroutine that
// calls sink.
type WatchFunc func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error

// Branch is one of those that share a watch.
type Subscriber struct {
	Options
	next  event.Sink
	keys  map[event.Key]bool // of Targets
	known *known             // only for who delivers

	first   WatchFunc // nil: it gets what its Fan gets from the start
	reached reached   // by first, for who delivers

	ready, freed chan struct{} // hold one signal each: something waits; there may be room

	mu      sync.Mutex
	waiting [][]event.Event // batches, which others may have, too
	bytes   int64
	held    bool // next waits for somebody else
	begins  bool // first watches
	dropped bool
	closed  bool
}

// NewBranch returns a Branch before next. The error is one of Past.
func NewSubscriber(next event.Sink, o Options) (*Subscriber, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	b := &Subscriber{
		Options: o, next: next, known: newKnown(o.KeepContent), keys: map[event.Key]bool{},
		ready: make(chan struct{}, 1), freed: make(chan struct{}, 1),
	}
	for _, t := range o.Targets {
		b.keys[t.Key()] = true
		if o.History == nil {
			b.known.of(t)
			continue
		}
		if err := b.known.restore(t, o.History); err != nil {
			return nil, err
		}
	}
	b.Options.History = nil // which may be that of another Branch, with all that it knows
	return b, nil
}

// Gets reports whether the Branch gets what becomes of a target.
func (b *Subscriber) Receives(t event.Target) bool { return b.AllTargets || b.keys[t.Key()] }

// Held says whether the Sink of the Branch waits for somebody else, while it has a batch.
func (b *Subscriber) SetBlocked(held bool) {
	b.mu.Lock()
	b.held = held
	b.mu.Unlock()
	signal(b.freed)
}

// IsShared reports whether the Branch gets what its Fan gets: it was not dropped.
func (b *Subscriber) IsAttached() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.dropped
}

func (b *Subscriber) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	signal(b.ready)
	signal(b.freed)
}

// take has a batch wait, and returns when there is room for another one, or this Branch is dropped.
func (b *Subscriber) take(ctx context.Context, batch []event.Event, isShared func() bool) {
	if !b.put(batch) {
		return
	}
	for !b.hasRoom() {
		if isShared() && b.dropHeld() {
			if b.OnDetached != nil {
				b.OnDetached()
			}
			return
		}
		select {
		case <-b.freed:
		case <-ctx.Done(): // what comes then is bounded by what the watch still has
			return
		}
	}
}

// put has what of batch is of this Branch wait; false: nothing does. Nobody changes batch any more.
func (b *Subscriber) put(batch []event.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped || b.closed {
		return false
	}
	batch = b.own(batch)
	if len(batch) == 0 {
		return false
	}
	b.waiting = append(b.waiting, batch)
	for i := range batch {
		b.bytes += sizeOf(&batch[i])
	}
	signal(b.ready)
	return true
}

// own returns what of batch is of this Branch: batch itself if all is.
func (b *Subscriber) own(batch []event.Event) []event.Event {
	isOwn := func(e *event.Event) bool { return e.Type == event.Heartbeat || b.Receives(e.Target) }
	var some []event.Event
	all := true
	for i := range batch {
		switch is := isOwn(&batch[i]); {
		case is && !all:
			some = append(some, batch[i])
		case !is && all:
			some, all = slices.Clone(batch[:i]), false
		}
	}
	if all {
		return batch
	}
	return some
}

// overhead is what an event takes beside its object.
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

// dropHeld drops the Branch if it is held, or is told what was before.
func (b *Subscriber) dropHeld() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.held && !b.begins {
		return false
	}
	b.drop()
	return true
}

// begun says that first has ended. What waits is of a watch that takes all that exists for told: who has not been told it
// gets nothing of that, and is dropped.
func (b *Subscriber) begun() {
	isTold := b.known.isTold()
	b.mu.Lock()
	b.begins = false
	if !isTold {
		b.drop()
	}
	b.mu.Unlock()
	signal(b.freed)
}

// drop is for who has mu.
func (b *Subscriber) drop() {
	b.dropped, b.waiting, b.bytes = true, nil, 0
	signal(b.ready)
}

// all returns what waits, and what becomes of the Branch when that is delivered.
func (b *Subscriber) all() (waiting [][]event.Event, dropped, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting = b.waiting
	b.waiting, b.bytes = nil, 0
	signal(b.freed)
	return waiting, b.dropped, b.closed
}

// Run delivers until the Fan is closed, or has it no more, or fails with an error of the Sink or of a Watch. It is called
// once.
func (b *Subscriber) Run(ctx context.Context) error {
	if b.first != nil {
		err := b.first(ctx, b, b.Targets, b.known.anew)
		b.begun()
		if err != nil {
			return err
		}
	}
	for {
		<-b.ready // which Close signals
		waiting, dropped, closed := b.all()
		if err := b.deliver(ctx, b.reached.missing(waiting)...); err != nil {
			return err
		}
		switch {
		case dropped && ctx.Err() == nil:
			b.reached = nil
			return b.FallbackWatch(ctx, b, b.known.handOver(), b.known.past)
		case dropped, closed:
			return nil
		}
	}
}

// Deliver implements event.Sink, for a watch of the Branch alone.
func (b *Subscriber) Deliver(ctx context.Context, batch []event.Event) error {
	b.reached.note(batch)
	return b.deliver(ctx, batch)
}

// deliver delivers batches as one.
func (b *Subscriber) deliver(ctx context.Context, batches ...[]event.Event) error {
	news := b.known.news(batches...)
	if len(news) == 0 {
		return nil
	}
	return b.next.Deliver(ctx, news)
}

// Past is an event.HistoryFunc of what was delivered, once Run has returned: for who takes the place of this Branch.
func (b *Subscriber) History(t event.Target, take func(event.ReportedObject)) (complete bool, err error) {
	return b.known.past(t, take)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is known already
	}
}
