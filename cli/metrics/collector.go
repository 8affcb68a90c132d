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

// registry returns the registry of /metrics: Metrics, and client_golang's metrics of the process and the Go runtime.
func registry(m *Metrics) *prometheus.Registry {
	r := processRegistry(m.Version)
	r.MustRegister(collector{m})
	return r
}

// processRegistry returns a registry with metrics of the process, but none of a run.
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

// build collects dwatch_build_info. Its value is the version.
type build string

func (build) Describe(chan<- *prometheus.Desc) {}

func (b build) Collect(to chan<- prometheus.Metric) {
	var s samples
	s.gauge("dwatch_build_info", "Version of dwatch and of the Go toolchain. The value is always 1.", 1, labels{"version": label(string(b)), "goversion": runtime.Version()})
	to <- s[0]
}

// collector collects Metrics. No label has the name of an object, because the number of objects is unlimited.
type collector struct{ m *Metrics }

// Describe sends nothing: which metrics exist depends on the watched resources and the destination.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect takes a snapshot before it sends the first metric, so that a slow scrape does not delay events.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, metric := range c.snapshot() {
		to <- metric
	}
}

type samples []prometheus.Metric

// labels are the labels of a sample. Values must be valid UTF-8, see label.
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

// watch adds the metrics of the watch and of --settle. It returns the function for the delivery's numbers, or nil.
func (c collector) watch(s *samples) func() deliver.Stats {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	for name, r := range c.m.resources {
		of := name.labels()
		for kind, n := range r.events {
			typed := name.labels()
			typed["type"] = string(kind)
			s.counter("dwatch_events_total", "Events from the watch, before any filter.", n, typed)
		}
		if !r.last.IsZero() {
			s.gauge("dwatch_last_event_timestamp_seconds", "Time of the last event, in seconds since the epoch.", float64(r.last.UnixMilli())/1000, of)
		}
		s.counter("dwatch_disconnects_total", "Lost connections.", r.statusEvents[event.Disconnected], of)
		s.counter("dwatch_reconnects_total", "Watches that were resumed after a lost connection without missing an event.", r.statusEvents[event.Reconnected], of)
		s.counter("dwatch_gaps_total", "Gaps closed by listing all objects again. Intermediate states may be missing.", r.statusEvents[event.Gap], of)
		if c.m.Verify {
			s.counter("dwatch_verified_total", "Comparisons of the reported objects with the server (--verify).", r.verified, of)
			s.counter("dwatch_missed_total", "Objects whose last state or deletion had been missed, as found by a comparison.", r.missed, of)
		}
	}
	c.connections(s)
	if c.m.settling != nil {
		changes, objects := c.m.settling()
		s.gauge("dwatch_settle_waiting_changes", "Changes that are held back until their object settles (--settle).", float64(changes), nil)
		s.gauge("dwatch_settle_waiting_objects", "Objects with changes that are held back (--settle).", float64(objects), nil)
	}
	return c.m.delivery
}

// connections adds dwatch_connected for each watched resource, and dwatch_cluster_connected for each of several clusters.
func (c collector) connections(s *samples) {
	connected := map[series]bool{}
	clusters := maps.Clone(c.m.clusters)
	for _, l := range c.m.links.All() {
		if l.Phase() == event.PhaseGone {
			continue
		}
		name := seriesOf(l.Target)
		before, exists := connected[name]
		isLive := l.Phase() == event.PhaseLive
		connected[name] = isLive && (before || !exists)
		if before, exists := clusters[l.Target.Cluster]; exists {
			clusters[l.Target.Cluster] = before && isLive
		}
	}
	for name, all := range connected {
		s.gauge("dwatch_connected", "1 if all watches of the resource are connected.", truth(all), name.labels())
	}
	for name, all := range clusters {
		s.gauge("dwatch_cluster_connected", "1 if the cluster has answered and all its watches are connected.", truth(all), labels{"cluster": label(name)})
	}
}

func (s *samples) deliveries(of deliver.Stats) {
	for result, n := range map[string]int{"delivered": of.Delivered, "failed": of.Failed, "refused": of.Refused} {
		s.counter("dwatch_delivery_attempts_total", "Attempts to deliver an event, by result.", n, labels{"result": result})
	}
	s.counter("dwatch_delivery_delivered_total", "Events that the receiver has accepted.", of.Delivered, nil)
	s.counter("dwatch_delivery_given_up_total", "Events that dwatch has given up.", of.GivenUp, nil)
	s.gauge("dwatch_delivery_waiting_events", "Events that wait for the receiver.", float64(of.Waiting), nil)
	s.gauge("dwatch_delivery_waiting_bytes", "Size of the events that wait for the receiver.", float64(of.Bytes), nil)
	s.gauge("dwatch_delivery_oldest_age_seconds", "How long the oldest waiting event has waited. 0 if none waits.", of.Oldest.Seconds(), nil)
	s.gauge("dwatch_delivery_down", "1 while the receiver accepts no events.", truth(of.Down), nil)
	s.gauge("dwatch_delivery_full", "1 while the queue is full. The watch, or with rules only this rule, then waits.", truth(of.Full), nil)
}

// label makes a text a valid label value by replacing invalid UTF-8.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
