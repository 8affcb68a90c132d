package metrics

import (
	"maps"
	"regexp"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// registry returns what /metrics has: what Metrics know, and what client_golang says of the
// process and of the Go runtime.
func registry(m *Metrics) *prometheus.Registry {
	r := processRegistry(m.Version)
	r.MustRegister(collector{m})
	return r
}

// processRegistry has what is the same whatever is watched.
func processRegistry(version string) *prometheus.Registry {
	cycles := collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/cycles/total:`)}
	r := prometheus.NewRegistry()
	r.MustRegister(
		build(version),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(cycles)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// build says which dwatch it is.
type build string

func (build) Describe(chan<- *prometheus.Desc) {}

func (b build) Collect(to chan<- prometheus.Metric) {
	var s samples
	s.gauge("dwatch_build_info", "Which dwatch this is.", 1, labels{"version": label(string(b)), "goversion": runtime.Version()})
	to <- s[0]
}

// collector has no label with the name of an object, of which there may be any number.
type collector struct{ m *Metrics }

// Describe says nothing: the metrics come and go with what is watched, and with a receiver.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect takes all of it before it hands it over: the events don't wait for who takes it.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, one := range c.snapshot() {
		to <- one
	}
}

type samples []prometheus.Metric

// labels are those of a sample, with values in valid UTF-8.
type labels = prometheus.Labels

func (s *samples) counter(name, help string, value int, l labels) {
	s.add(prometheus.CounterValue, name, help, float64(value), l)
}

func (s *samples) gauge(name, help string, value float64, l labels) {
	s.add(prometheus.GaugeValue, name, help, value, l)
}

func (s *samples) add(kind prometheus.ValueType, name, help string, value float64, l labels) {
	*s = append(*s, prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, l), kind, value))
}

func (c collector) snapshot() (s samples) {
	if delivery := c.watch(&s); delivery != nil {
		s.deliveries(delivery())
	}
	return s
}

// watch adds what the watcher has reported, and returns where a receiver's numbers come from.
func (c collector) watch(s *samples) func() deliver.Stats {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	for name, r := range c.m.resources {
		of := name.labels()
		for kind, n := range r.events {
			typed := name.labels()
			typed["type"] = string(kind)
			s.counter("dwatch_events_total", "Events that the watch has reported, before any filter.", n, typed)
		}
		if !r.last.IsZero() {
			s.gauge("dwatch_last_event_timestamp_seconds", "When the last event was seen, since the epoch.", float64(r.last.UnixMilli())/1000, of)
		}
		s.counter("dwatch_disconnects_total", "Connections that were lost.", r.marks[event.Disconnected], of)
		s.counter("dwatch_reconnects_total", "Connections that were resumed where they broke: nothing was missed.", r.marks[event.Reconnected], of)
		s.counter("dwatch_gaps_total", "Times that all was relisted: states in between may be missing.", r.marks[event.Gap], of)
		if c.m.Verify {
			s.counter("dwatch_verified_total", "Times that what is known was compared with the server.", r.verified, of)
			s.counter("dwatch_missed_total", "Objects whose last state, or deletion, had been missed when that was compared.", r.missed, of)
		}
	}
	c.connections(s)
	if c.m.settling != nil {
		changes, objects := c.m.settling()
		s.gauge("dwatch_settle_waiting_changes", "Changes that wait until it is quiet (--settle).", float64(changes), nil)
		s.gauge("dwatch_settle_waiting_objects", "Objects of which changes wait until it is quiet (--settle).", float64(objects), nil)
	}
	return c.m.delivery
}

// connections adds for each resource that is watched now whether it is connected.
func (c collector) connections(s *samples) {
	connected := map[series]bool{}
	well := maps.Clone(c.m.clusters)
	for _, l := range c.m.links.All() {
		if l.Phase() == event.PhaseGone {
			continue
		}
		name := seriesOf(l.Target)
		before, known := connected[name]
		isLive := l.Phase() == event.PhaseLive
		connected[name] = isLive && (before || !known)
		if is, several := well[l.Target.Cluster]; several {
			well[l.Target.Cluster] = is && isLive
		}
	}
	for name, all := range connected {
		s.gauge("dwatch_connected", "Whether all that is watched of a resource is connected.", truth(all), name.labels())
	}
	for name, all := range well {
		s.gauge("dwatch_cluster_connected", "Whether a cluster has answered, and all that is watched there is connected.", truth(all), labels{"cluster": label(name)})
	}
}

func (s *samples) deliveries(of deliver.Stats) {
	for result, n := range map[string]int{"delivered": of.Delivered, "failed": of.Failed, "refused": of.Refused} {
		s.counter("dwatch_delivery_attempts_total", "Tries to deliver an event, by how they ended.", n, labels{"result": result})
	}
	s.counter("dwatch_delivery_delivered_total", "Events that the receiver has taken.", of.Delivered, nil)
	s.counter("dwatch_delivery_given_up_total", "Events that were given up.", of.GivenUp, nil)
	s.gauge("dwatch_delivery_waiting_events", "Events that wait for the receiver.", float64(of.Waiting), nil)
	s.gauge("dwatch_delivery_waiting_bytes", "What the events take that wait for the receiver.", float64(of.Bytes), nil)
	s.gauge("dwatch_delivery_oldest_age_seconds", "For how long the oldest event has waited; 0 if none waits.", of.Oldest.Seconds(), nil)
	s.gauge("dwatch_delivery_down", "Whether the receiver takes nothing at present.", truth(of.Down), nil)
	s.gauge("dwatch_delivery_full", "Whether there is no room for more: the server, or with rules this one, is held back.", truth(of.Full), nil)
}

// label is a text as the value of a label, which has to be valid UTF-8.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
