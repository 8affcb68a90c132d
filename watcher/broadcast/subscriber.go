package broadcast

import (
	"cmp"
	"context"
	"slices"

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
	// are the current ones of the Subscriber. It may add others. It must not be nil, unless the
	// Subscriber is always the only one of its Broadcaster.
	FallbackWatch WatchFunc
	// OnDetached is called by the goroutine that calls Deliver of the Broadcaster, when the buffer is
	// full and the Subscriber is detached. It may be nil.
	OnDetached func()
}

// WatchFunc watches targets for one Subscriber and delivers the events to sink. history tells the
// watch what was reported before. The watch must call history in the goroutine that calls sink.
type WatchFunc func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error

// Subscriber is one of the consumers that share a watch.
type Subscriber struct {
	Options
	next    event.Sink
	keys    map[event.Key]bool // of Targets
	ledgers *ledgers           // used only by the goroutine that delivers
	buffer  *buffer
}

// NewSubscriber returns a Subscriber for next. It returns errors of History.
func NewSubscriber(next event.Sink, o Options) (*Subscriber, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	b := &Subscriber{
		Options: o, next: next, ledgers: newLedgers(o.KeepContent), keys: map[event.Key]bool{},
		buffer: newBuffer(o.MaxBytes),
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

// SetBlocked records whether the Subscriber's Sink waits for another process during Deliver.
func (b *Subscriber) SetBlocked(blocked bool) { b.buffer.setBlocked(blocked) }

// IsAttached reports whether the Subscriber receives the batches of its Broadcaster, because it was
// not detached.
func (b *Subscriber) IsAttached() bool { return b.buffer.isAttached() }

// enqueue adds a batch to the buffer. It returns when there is space for another one, the Subscriber
// was detached or closed, or ctx ends. batch must not be changed any more.
func (b *Subscriber) enqueue(ctx context.Context, batch []event.Event, isShared func() bool) {
	if !b.buffer.put(b.own(batch)) {
		return
	}
	for !b.buffer.hasRoom() {
		if isShared() && b.buffer.detachIfBlocked() {
			if b.OnDetached != nil {
				b.OnDetached()
			}
			return
		}
		select {
		case <-b.buffer.freed:
		case <-ctx.Done(): // the remaining batches of the watch are few
			return
		}
	}
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

// Run delivers until the Broadcaster is closed or the Subscriber is removed. If the Subscriber is
// detached, Run calls FallbackWatch and ends with it, unless ctx has ended. It does not end with ctx
// alone, so that the buffer is delivered. Run returns an error of the Sink or of FallbackWatch. It may
// be called only once.
func (b *Subscriber) Run(ctx context.Context) error {
	for {
		<-b.buffer.ready // also signaled by close
		waiting, detached, closed := b.buffer.takeAll()
		if err := b.deliver(ctx, waiting...); err != nil {
			return err
		}
		switch {
		case detached && ctx.Err() == nil:
			return b.FallbackWatch(ctx, b, b.ledgers.prepareFallback(), b.ledgers.history)
		case detached, closed:
			return nil
		}
	}
}

// Deliver implements event.Sink for the Subscriber's own watch.
func (b *Subscriber) Deliver(ctx context.Context, batch []event.Event) error {
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
