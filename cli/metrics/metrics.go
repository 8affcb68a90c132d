package metrics

import (
	"context"
	"sync"
	"time"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// Beat is how often a watcher has to report a heartbeat, if nobody asks for more.
const Beat = 5 * time.Second

// Options says what is measured.
type Options struct {
	// Version is which dwatch this is.
	Version string
	// Heartbeat is how often the watcher reports one; 0: every Beat, which nobody else
	// is to see.
	Heartbeat time.Duration
}

// Metrics is what is known of a run. All methods may be called at any time, from any
// goroutine. Nil Metrics measure nothing.
type Metrics struct {
	Options

	mu        sync.Mutex
	watching  bool // the targets are known
	ending    bool // nothing more comes of the watch
	resources map[string]*counters
	targets   map[event.Key]*target
	delivery  func() deliver.Stats // nil: there is no receiver
	loop      turning
}

// counters is what has happened to a resource.
type counters struct {
	events                       map[event.Type]int
	disconnects, reconnects, gap int
	last                         time.Time // of its events
}

// target is how a target is.
type target struct {
	connected bool
	answered  bool // once: all that exists was reported, or it is denied
}

// New returns Metrics of a run that begins now.
func New(o Options) *Metrics {
	return &Metrics{Options: o, resources: map[string]*counters{}, targets: map[event.Key]*target{}}
}

// Interval is how often the watcher has to report a heartbeat.
func (m *Metrics) Interval() time.Duration {
	if m == nil || m.Heartbeat > 0 {
		return 0
	}
	return Beat
}

// Begin says what is watched.
func (m *Metrics) Begin(targets []event.Target) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watching = true
	m.loop.turned = time.Now()
	for _, t := range targets {
		m.targets[t.Key()] = &target{}
		m.of(t.Key())
	}
}

// End says that nothing more comes of the watch.
func (m *Metrics) End() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ending = true
}

// Delivers says where the numbers of a receiver come from.
func (m *Metrics) Delivers(stats func() deliver.Stats) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delivery = stats
}

// Front returns the stage before all others.
func (m *Metrics) Front(next event.Sink) event.Sink {
	if m == nil {
		return next
	}
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		batch = m.observe(batch)
		defer m.turn()
		if len(batch) == 0 {
			return nil
		}
		return next.Deliver(ctx, batch)
	})
}

// Back returns the stage before what prints or delivers.
func (m *Metrics) Back(next event.Sink) event.Sink {
	if m == nil {
		return next
	}
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		m.hand(true)
		defer m.hand(false)
		return next.Deliver(ctx, batch)
	})
}

// observe counts a batch, and returns it without the heartbeats that nobody asked for.
func (m *Metrics) observe(batch []event.Event) []event.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loop.turned, m.loop.delivering = time.Now(), true
	kept := batch[:0:0]
	dropped := false
	for i := range batch {
		e := &batch[i]
		if e.Type == event.Heartbeat {
			if m.Heartbeat == 0 && !dropped {
				dropped = true
				kept = append(kept, batch[:i]...)
			}
			if m.Heartbeat == 0 {
				continue
			}
		} else {
			m.count(e)
		}
		if dropped {
			kept = append(kept, *e)
		}
	}
	if dropped {
		return kept
	}
	return batch
}

func (m *Metrics) count(e *event.Event) {
	key := e.Target.Key()
	c := m.of(key)
	switch e.Type {
	case event.Synced:
		m.at(key).set(true, true)
	case event.Reconnected:
		c.reconnects++
		m.at(key).connected = true
	case event.Gap:
		c.gap++
		m.at(key).set(true, true)
	case event.Disconnected:
		c.disconnects++
		m.at(key).connected = false
	case event.Denied:
		m.at(key).set(false, true)
	case event.Arrived:
		m.at(key).connected = false
	case event.Gone:
		delete(m.targets, key)
	default:
		c.events[e.Type]++
		c.last = e.Time
	}
}

func (t *target) set(connected, answered bool) { t.connected, t.answered = connected, answered }

// of returns the counters of a target's resource.
func (m *Metrics) of(key event.Key) *counters {
	name := nameOf(key)
	if m.resources[name] == nil {
		m.resources[name] = &counters{events: map[event.Type]int{event.Added: 0, event.Modified: 0, event.Deleted: 0}}
	}
	return m.resources[name]
}

// nameOf returns a target's resource as the value of a label.
func nameOf(key event.Key) string { return label(key.Resource.String()) }

// at returns how a target is. Where it is new, it takes the place of those that it covers.
func (m *Metrics) at(key event.Key) *target {
	if m.targets[key] == nil {
		for other := range m.targets {
			if key.Covers(other) {
				delete(m.targets, other)
			}
		}
		m.targets[key] = &target{}
	}
	return m.targets[key]
}
