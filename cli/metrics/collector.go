package metrics

import (
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// registry returns what /metrics has: what Metrics know, and what client_golang says of the
// process and of the Go runtime.
func registry(m *Metrics) *prometheus.Registry {
	cycles := collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/cycles/total:`)}
	r := prometheus.NewRegistry()
	r.MustRegister(
		newCollector(m),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(cycles)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// family is a metric with all its label values.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// collector gives Prometheus what Metrics know at the time of a scrape.
type collector struct {
	m *Metrics

	build                                     family
	events, last                              family
	disconnects, reconnects, gaps, connected  family
	attempts, delivered, givenUp              family
	waiting, waitingBytes, oldest, down, full family
}

// newCollector describes the metrics. None has the name of an object as a label, of which
// there may be any number.
func newCollector(m *Metrics) *collector {
	c := &collector{m: m}
	c.build = gauge("dwatch_build_info", "Which dwatch this is.", "version", "goversion")

	c.events = counter("dwatch_events_total", "Events that the watch has reported, before any filter.", "resource", "type")
	c.last = gauge("dwatch_last_event_timestamp_seconds", "When the last event was seen, since the epoch.", "resource")
	c.disconnects = counter("dwatch_disconnects_total", "Connections that were lost.", "resource")
	c.reconnects = counter("dwatch_reconnects_total", "Connections that were resumed where they broke: nothing was missed.", "resource")
	c.gaps = counter("dwatch_gaps_total", "Times that all was relisted: states in between may be missing.", "resource")
	c.connected = gauge("dwatch_connected", "Whether all that is watched of a resource is connected.", "resource")

	c.attempts = counter("dwatch_delivery_attempts_total", "Tries to deliver an event, by how they ended.", "result")
	c.delivered = counter("dwatch_delivery_delivered_total", "Events that the receiver has taken.")
	c.givenUp = counter("dwatch_delivery_given_up_total", "Events that were given up.")
	c.waiting = gauge("dwatch_delivery_waiting_events", "Events that wait for the receiver.")
	c.waitingBytes = gauge("dwatch_delivery_waiting_bytes", "What the events take that wait for the receiver.")
	c.oldest = gauge("dwatch_delivery_oldest_age_seconds", "For how long the oldest event has waited; 0 if none waits.")
	c.down = gauge("dwatch_delivery_down", "Whether the receiver takes nothing at present.")
	c.full = gauge("dwatch_delivery_full", "Whether there is no room for more: the server is held back.")
	return c
}

func counter(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

// Describe says nothing, which is for a collector whose metrics come and go: with what is
// watched, and with a receiver.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect says how they are. The events don't wait for who takes them.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for _, one := range c.snapshot() {
		to <- one
	}
}

// samples are those of a scrape.
type samples []prometheus.Metric

// add adds a value; labels has those of the family, in valid UTF-8.
func (s *samples) add(f family, value float64, labels ...string) {
	*s = append(*s, prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...))
}

func (c *collector) snapshot() samples {
	var s samples
	s.add(c.build, 1, label(c.m.Version), runtime.Version())
	if delivery := c.watch(&s); delivery != nil {
		c.deliveries(&s, delivery())
	}
	return s
}

// watch adds what the watcher has reported, and returns where the numbers of a receiver
// come from.
func (c *collector) watch(s *samples) func() deliver.Stats {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	for name, r := range c.m.resources {
		for kind, n := range r.events {
			s.add(c.events, float64(n), name, string(kind))
		}
		if !r.last.IsZero() {
			s.add(c.last, seconds(r.last), name)
		}
		s.add(c.disconnects, float64(r.disconnects), name)
		s.add(c.reconnects, float64(r.reconnects), name)
		s.add(c.gaps, float64(r.gap), name)
	}
	c.connections(s)
	return c.m.delivery
}

// connections adds for each resource that is watched now whether it is connected.
func (c *collector) connections(s *samples) {
	connected := map[string]bool{}
	for _, l := range c.m.links.All() {
		if l.Phase() == event.PhaseGone {
			continue
		}
		name := nameOf(l.Target)
		before, known := connected[name]
		connected[name] = l.Phase() == event.PhaseLive && (before || !known)
	}
	for name, all := range connected {
		s.add(c.connected, truth(all), name)
	}
}

// deliveries adds how it stands with the receiver.
func (c *collector) deliveries(s *samples, of deliver.Stats) {
	s.add(c.attempts, float64(of.Delivered), "delivered")
	s.add(c.attempts, float64(of.Failed), "failed")
	s.add(c.attempts, float64(of.Refused), "refused")
	s.add(c.delivered, float64(of.Delivered))
	s.add(c.givenUp, float64(of.GivenUp))
	s.add(c.waiting, float64(of.Waiting))
	s.add(c.waitingBytes, float64(of.Bytes))
	s.add(c.oldest, of.Oldest.Seconds())
	s.add(c.down, truth(of.Down))
	s.add(c.full, truth(of.Full))
}

// label is a text as the value of a label, which has to be valid UTF-8.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds is a time as Prometheus has it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
