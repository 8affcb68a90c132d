package metrics

import (
	"context"
	"slices"
	"sync"
	"time"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// DefaultHeartbeat is the interval of the watcher's heartbeats if the user did not ask for heartbeats.
const DefaultHeartbeat = 5 * time.Second

type Options struct {
	Version string
	// Heartbeat is the interval of heartbeats that the user asked for. Zero means DefaultHeartbeat, and that InputStage
	// removes the heartbeats from the stream.
	Heartbeat time.Duration
	// Verify is true if the reported objects are compared with the server.
	Verify bool
}

// Metrics are the metrics and the health of a run. All methods may be called at any time, from any goroutine. Those that
// record something do nothing if m is nil.
type Metrics struct {
	Options

	mu        sync.Mutex
	watching  bool // Begin was called
	ending    bool // SetStopping was called
	resources map[series]*counters
	clusters  map[string]bool // whether a cluster has answered; empty in a run of one cluster
	links     *event.WatchStates
	delivery  func() deliver.Stats          // nil without a receiver
	settling  func() (changes, objects int) // nil without --settle
	loop      loop
}

// series identifies a set of counters: a resource, and the cluster in a run of several.
type series struct{ cluster, resource string }

func (s series) labels() labels {
	l := labels{"resource": s.resource}
	if s.cluster != "" {
		l["cluster"] = s.cluster
	}
	return l
}

// counters are the counters of a resource.
type counters struct {
	events, statusEvents map[event.Type]int
	last                 time.Time // of the latest object event

	verified, missed int
}

func New(o Options) *Metrics {
	return &Metrics{Options: o, resources: map[series]*counters{}, clusters: map[string]bool{}, links: event.NewWatchStates(nil)}
}

// HeartbeatInterval returns the interval of heartbeats that m needs. It is zero if m is nil, or if the user asked for
// heartbeats anyway.
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

// Begin is called when the targets have been resolved and the watch begins.
func (m *Metrics) Begin(targets []event.Target) {
	m.update(func() {
		m.watching, m.loop.changed, m.links = true, time.Now(), event.NewWatchStates(targets)
		for _, t := range targets {
			m.countersOf(t)
		}
	})
}

// AddCluster adds a cluster to a run of several. It is not connected yet.
func (m *Metrics) AddCluster(cluster string) {
	m.update(func() { m.clusters[cluster] = false })
}

// SetClusterConnected records that a cluster has answered.
func (m *Metrics) SetClusterConnected(cluster string) {
	m.update(func() { m.clusters[cluster] = true })
}

// RemoveCluster removes a cluster that is no longer watched.
func (m *Metrics) RemoveCluster(cluster string) { m.update(func() { delete(m.clusters, cluster) }) }

// RecordVerification records a comparison of a target with the server, and how many objects were missed. If succeeded is
// false, the comparison failed and is not counted.
func (m *Metrics) RecordVerification(t event.Target, missed int, succeeded bool) {
	m.update(func() {
		if c := m.countersOf(t); succeeded {
			c.verified++
			c.missed += missed
		}
	})
}

// SetStopping records that the watch has ended.
func (m *Metrics) SetStopping() { m.update(func() { m.ending = true }) }

// SetDeliveryStats sets the function that returns the numbers of the delivery queue.
func (m *Metrics) SetDeliveryStats(stats func() deliver.Stats) {
	m.update(func() { m.delivery = stats })
}

// SetSettleStats sets the function that counts the changes that --settle holds back, and their objects.
func (m *Metrics) SetSettleStats(waiting func() (changes, objects int)) {
	m.update(func() { m.settling = waiting })
}

// InputStage returns the first stage of a run: it counts events and passes them to next. If m is nil, it returns next.
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

// OutputStage returns a stage that notes while next, the output or the delivery, is working. If m is nil, it returns next.
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

// observe counts a batch. It returns it without heartbeats unless the user asked for them.
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
	c := m.countersOf(e.Target)
	if e.Type.IsStatus() {
		c.statusEvents[e.Type]++
		return
	}
	c.events[e.Type]++
	c.last = e.Time
}

// countersOf returns the counters for a target, and creates them if needed. It requires m.mu to be held.
func (m *Metrics) countersOf(t event.Target) *counters {
	s := seriesOf(t)
	if m.resources[s] == nil {
		m.resources[s] = &counters{
			events:       map[event.Type]int{event.Added: 0, event.Modified: 0, event.Deleted: 0},
			statusEvents: map[event.Type]int{},
		}
	}
	return m.resources[s]
}

// seriesOf returns the cluster and the resource of a target as label values.
func seriesOf(t event.Target) series {
	return series{label(t.Cluster), label(t.Resource().GroupResource().String())}
}
