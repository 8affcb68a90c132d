package metrics

import (
	"context"
	"slices"
	"sync"
	"time"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// Beat is how often a watcher has to report a heartbeat, if nobody asks for more.
const DefaultHeartbeat = 5 * time.Second

type Options struct {
	Version string
	// Heartbeat is how often the watcher reports one; 0: every Beat, which nobody else is to see.
	Heartbeat time.Duration
	// Verify says that what is known is compared with the server.
	Verify bool
}

// Metrics is what is known of a run. All methods may be called at any time, from any
// goroutine. Nil Metrics measure nothing.
type Metrics struct {
	Options

	mu        sync.Mutex
	watching  bool // the targets are known
	ending    bool // nothing more comes of the watch
	resources map[series]*counters
	clusters  map[string]bool // of a run of several: whether it has answered
	links     *event.WatchStates
	delivery  func() deliver.Stats          // nil: there is no receiver
	settling  func() (changes, objects int) // nil: nothing waits to be quiet
	loop      loop
}

// series is what is counted by itself: a resource, in a run of several clusters at one of them.
type series struct{ cluster, resource string }

func (s series) labels() labels {
	l := labels{"resource": s.resource}
	if s.cluster != "" {
		l["cluster"] = s.cluster
	}
	return l
}

// counters is what has happened to a resource.
type counters struct {
	events, marks map[event.Type]int
	last          time.Time // of its events

	verified, missed int
}

func New(o Options) *Metrics {
	return &Metrics{Options: o, resources: map[series]*counters{}, clusters: map[string]bool{}, links: event.NewWatchStates(nil)}
}

// Interval is how often the watcher has to report a heartbeat.
func (m *Metrics) HeartbeatInterval() time.Duration {
	if m == nil || m.Heartbeat > 0 {
		return 0
	}
	return DefaultHeartbeat
}

func (m *Metrics) update(change func()) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *Metrics) Begin(targets []event.Target) {
	m.update(func() {
		m.watching, m.loop.changed, m.links = true, time.Now(), event.NewWatchStates(targets)
		for _, t := range targets {
			m.of(t)
		}
	})
}

// Expect says that a cluster is one of several, whether it answers or not, and Answers that it has.
func (m *Metrics) AddCluster(cluster string) {
	m.update(func() { m.clusters[cluster] = false })
}
func (m *Metrics) SetClusterConnected(cluster string) {
	m.update(func() { m.clusters[cluster] = true })
}

// Leaves says that nothing more is expected of a cluster.
func (m *Metrics) RemoveCluster(cluster string) { m.update(func() { delete(m.clusters, cluster) }) }

// Verified says that a target was compared with the server, or could not be, and how much was missed.
func (m *Metrics) RecordVerification(t event.Target, missed int, isKnown bool) {
	m.update(func() {
		if c := m.of(t); isKnown {
			c.verified++
			c.missed += missed
		}
	})
}

// End says that nothing more comes of the watch.
func (m *Metrics) SetStopping() { m.update(func() { m.ending = true }) }

// Delivers says where the numbers of a receiver come from.
func (m *Metrics) SetDeliveryStats(stats func() deliver.Stats) {
	m.update(func() { m.delivery = stats })
}

// Settles says where it is known how much waits to be quiet.
func (m *Metrics) SetSettleStats(waiting func() (changes, objects int)) {
	m.update(func() { m.settling = waiting })
}

// Front returns the stage before all others.
func (m *Metrics) InputStage(next event.Sink) event.Sink {
	if m == nil {
		return next
	}
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		batch = m.observe(batch)
		defer m.update(func() { m.loop.changed, m.loop.delivering = time.Now(), false })
		if len(batch) == 0 {
			return nil
		}
		return next.Deliver(ctx, batch)
	})
}

// Back returns the stage before what prints or delivers.
func (m *Metrics) OutputStage(next event.Sink) event.Sink {
	if m == nil {
		return next
	}
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		setWaiting := func(waiting bool) {
			m.update(func() { m.loop.changed, m.loop.waiting = time.Now(), waiting })
		}
		setWaiting(true)
		defer setWaiting(false)
		return next.Deliver(ctx, batch)
	})
}

// observe counts a batch, and returns it without the heartbeats that nobody asked for.
func (m *Metrics) observe(batch []event.Event) []event.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loop.changed, m.loop.delivering = time.Now(), true
	for i := range batch {
		if batch[i].Type != event.Heartbeat {
			m.count(&batch[i])
		}
	}
	isHeartbeat := func(e event.Event) bool { return e.Type == event.Heartbeat }
	if m.Heartbeat > 0 || !slices.ContainsFunc(batch, isHeartbeat) {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), isHeartbeat)
}

func (m *Metrics) count(e *event.Event) {
	m.links.Observe(e)
	c := m.of(e.Target)
	if e.Type.IsStatus() {
		c.marks[e.Type]++
		return
	}
	c.events[e.Type]++
	c.last = e.Time
}

func (m *Metrics) of(t event.Target) *counters {
	of := seriesOf(t)
	if m.resources[of] == nil {
		m.resources[of] = &counters{
			events: map[event.Type]int{event.Added: 0, event.Modified: 0, event.Deleted: 0}, marks: map[event.Type]int{},
		}
	}
	return m.resources[of]
}

// seriesOf returns a target's cluster and resource as values of labels.
func seriesOf(t event.Target) series {
	return series{label(t.Cluster), label(t.Resource().GroupResource().String())}
}
