package metrics

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"dwatch/output/deliver"
)

// page is text in Prometheus' format.
type page struct{ bytes.Buffer }

// labels are names and values in turns.
type labels []string

// family begins the samples of one metric.
func (p *page) family(name, kind, help string) func(value float64, with ...string) {
	p.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
	return func(value float64, with ...string) { p.sample(name, with, value) }
}

// one is a metric with one sample.
func (p *page) one(name, kind, help string, value float64) { p.family(name, kind, help)(value) }

const counter, gauge = "counter", "gauge"

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (p *page) sample(name string, with labels, value float64) {
	p.WriteString(name)
	for i := 0; i < len(with); i += 2 {
		before := ","
		if i == 0 {
			before = "{"
		}
		p.WriteString(before + with[i] + `="` + escapeLabel.Replace(strings.ToValidUTF8(with[i+1], "\uFFFD")) + `"`)
	}
	if len(with) > 0 {
		p.WriteByte('}')
	}
	p.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// Text returns all metrics in Prometheus' text format.
func (m *Metrics) Text() []byte {
	p := &page{}
	p.family("dwatch_build_info", gauge, "Which dwatch this is.")(1, "version", m.Version, "goversion", runtime.Version())
	m.mu.Lock()
	m.watch(p)
	delivery := m.delivery
	m.mu.Unlock()
	if delivery != nil {
		writeDelivery(p, delivery())
	}
	writeGo(p)
	writeProcess(p, m.started)
	return p.Bytes()
}

// watch writes what the watcher has reported.
func (m *Metrics) watch(p *page) {
	names := slices.Sorted(maps.Keys(m.resources))
	each := func(name, kind, help string, value func(*counters) float64) {
		sample := p.family(name, kind, help)
		for _, r := range names {
			sample(value(m.resources[r]), "resource", r)
		}
	}
	events := p.family("dwatch_events_total", counter, "Events that the watch has reported, before any filter.")
	for _, r := range names {
		c := m.resources[r]
		for _, t := range slices.Sorted(maps.Keys(c.events)) {
			events(float64(c.events[t]), "resource", r, "type", string(t))
		}
	}
	last := p.family("dwatch_last_event_timestamp_seconds", gauge, "When the last event was seen, since the epoch.")
	for _, r := range names {
		if at := m.resources[r].last; !at.IsZero() {
			last(seconds(at), "resource", r)
		}
	}
	each("dwatch_disconnects_total", counter, "Connections that were lost.", func(c *counters) float64 { return float64(c.disconnects) })
	each("dwatch_reconnects_total", counter, "Connections that were resumed where they broke: nothing was missed.", func(c *counters) float64 { return float64(c.reconnects) })
	each("dwatch_gaps_total", counter, "Times that all was relisted: states in between may be missing.", func(c *counters) float64 { return float64(c.gap) })
	m.connections(p)
}

// connections writes for each resource that is watched now whether it is connected.
func (m *Metrics) connections(p *page) {
	connected := map[string]float64{}
	for key, t := range m.targets {
		r := key.Resource.String()
		if _, known := connected[r]; !known {
			connected[r] = 1
		}
		if !t.connected {
			connected[r] = 0
		}
	}
	sample := p.family("dwatch_connected", gauge, "Whether all that is watched of a resource is connected.")
	for _, r := range slices.Sorted(maps.Keys(connected)) {
		sample(connected[r], "resource", r)
	}
}

// writeDelivery writes how it stands with the receiver.
func writeDelivery(p *page, s deliver.Stats) {
	attempts := p.family("dwatch_delivery_attempts_total", counter, "Tries to deliver an event, by how they ended.")
	attempts(float64(s.Delivered), "result", "delivered")
	attempts(float64(s.Failed), "result", "failed")
	attempts(float64(s.Refused), "result", "refused")
	p.one("dwatch_delivery_delivered_total", counter, "Events that the receiver has taken.", float64(s.Delivered))
	p.one("dwatch_delivery_given_up_total", counter, "Events that were given up.", float64(s.GivenUp))
	p.one("dwatch_delivery_waiting_events", gauge, "Events that wait for the receiver.", float64(s.Waiting))
	p.one("dwatch_delivery_waiting_bytes", gauge, "What the events take that wait for the receiver.", float64(s.Bytes))
	p.one("dwatch_delivery_oldest_age_seconds", gauge, "For how long the oldest event has waited; 0 if none waits.", s.Oldest.Seconds())
	p.one("dwatch_delivery_down", gauge, "Whether the receiver takes nothing at present.", truth(s.Down))
	p.one("dwatch_delivery_full", gauge, "Whether there is no room for more: the server is held back.", truth(s.Full))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds is a time as Prometheus has it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
