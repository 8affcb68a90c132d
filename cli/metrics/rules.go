package metrics

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Rule is one of several whose runs are measured each by itself.
type Rule struct {
	Name string
	*Metrics
}

// Rules are several, which come and go, and the file that they are read from. All methods may be called at any time, from any
// goroutine; nil Rules measure nothing.
type Rules struct {
	mu    sync.Mutex
	rules []Rule
	read  time.Time // when the rules that run were read
	holds bool      // they are those of the file, as far as that is known
	// lingers says how many outboxes there are of rules that have changed since, and what waits in them.
	lingers func() (outboxes, events int)
}

// Are says which rules there are.
func (r *Rules) SetRules(rules []Rule) {
	r.update(func() { r.rules = rules })
}

// Read says that the file was read, and whether what it says holds: if not, what it said before does.
func (r *Rules) RecordReload(at time.Time, holds bool) {
	r.update(func() {
		if r.holds = holds; holds {
			r.read = at
		}
	})
}

// Linger says how many outboxes there are of rules that have changed since, and how many events wait in them.
func (r *Rules) SetDrainStats(how func() (outboxes, events int)) {
	r.update(func() { r.lingers = how })
}

func (r *Rules) update(change func()) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *Rules) all() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rules
}

// check returns what is wrong with the first of the rules with which something is.
func (r *Rules) check(is func(*Metrics) error) error {
	for _, one := range r.all() {
		if err := is(one.Metrics); err != nil {
			return fmt.Errorf("rule %s: %w", one.Name, err)
		}
	}
	return nil
}

func (r *Rules) healthy() error { return r.check((*Metrics).CheckHealthy) }
func (r *Rules) ready() error   { return r.check((*Metrics).CheckReady) }

// ListenRules is Listen for rules: each has its metrics with a label that names it, and the whole is well and ready when each
// rule is.
func ListenRules(address, version string, rules *Rules) (*Server, error) {
	r := processRegistry(version)
	r.MustRegister(rulesCollector{rules})
	return listen(address, answers(r, rules.healthy, rules.ready))
}

type rulesCollector struct{ rules *Rules }

// Describe says nothing: the rules come and go.
func (rulesCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c rulesCollector) Collect(to chan<- prometheus.Metric) {
	for _, one := range c.rules.all() {
		prometheus.WrapCollectorWith(labels{"rule": one.Name}, collector{one.Metrics}).Collect(to)
	}
	var s samples
	var lingers func() (outboxes, events int)
	c.rules.update(func() {
		lingers = c.rules.lingers
		s.gauge("dwatch_rules_last_reload_successful", "Whether the rules that run are those that the file had when it was read last.", truth(c.rules.holds), nil)
		s.gauge("dwatch_rules_last_reload_success_timestamp_seconds", "When the rules that run were read, since the epoch.", float64(c.rules.read.UnixMilli())/1000, nil)
	})
	outboxes, events := 0, 0
	if lingers != nil {
		outboxes, events = lingers()
	}
	s.gauge("dwatch_rules_lingering_outboxes", "Outboxes of rules as they were before they changed, of which something waits for the receiver that they had.", float64(outboxes), nil)
	s.gauge("dwatch_rules_lingering_events", "Events that wait in these.", float64(events), nil)
	for _, one := range s {
		to <- one
	}
}
