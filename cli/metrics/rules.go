package metrics

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Rule has the metrics of one rule's run.
type Rule struct {
	Name string
	*Metrics
}

// Rules has the metrics of the running rules and of the file that they are read from. All methods may be called at any time,
// from any goroutine. SetRules, RecordReload and SetDrainStats do nothing if r is nil.
type Rules struct {
	mu        sync.Mutex
	rules     []Rule
	reloaded  time.Time // when the running rules were read
	isApplied bool      // the file was valid when it was last read
	// draining counts the outboxes of changed or removed rules, and the events that wait in them. It may be nil.
	draining func() (outboxes, events int)
}

// SetRules sets the running rules.
func (r *Rules) SetRules(rules []Rule) {
	r.update(func() { r.rules = rules })
}

// RecordReload records that the file was read. If it could not be applied, the rules that were read before keep running.
func (r *Rules) RecordReload(at time.Time, isApplied bool) {
	r.update(func() {
		if r.isApplied = isApplied; isApplied {
			r.reloaded = at
		}
	})
}

// SetDrainStats sets the function that counts the outboxes of changed or removed rules, and the events that wait in them.
func (r *Rules) SetDrainStats(stats func() (outboxes, events int)) {
	r.update(func() { r.draining = stats })
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

// check returns the first error of a rule.
func (r *Rules) check(checkRule func(*Metrics) error) error {
	for _, rule := range r.all() {
		if err := checkRule(rule.Metrics); err != nil {
			return fmt.Errorf("rule %s: %w", rule.Name, err)
		}
	}
	return nil
}

func (r *Rules) healthy() error { return r.check((*Metrics).CheckHealthy) }
func (r *Rules) ready() error   { return r.check((*Metrics).CheckReady) }

// ListenRules is like Listen, for rules. The metrics of each rule have a label with its name. The process is healthy and
// ready when every rule is.
func ListenRules(address, version string, rules *Rules) (*Server, error) {
	r := processRegistry(version)
	r.MustRegister(rulesCollector{rules})
	return listen(address, answers(r, rules.healthy, rules.ready))
}

type rulesCollector struct{ rules *Rules }

// Describe sends nothing: rules come and go.
func (rulesCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c rulesCollector) Collect(to chan<- prometheus.Metric) {
	for _, rule := range c.rules.all() {
		prometheus.WrapCollectorWith(labels{"rule": rule.Name}, collector{rule.Metrics}).Collect(to)
	}
	var s samples
	var draining func() (outboxes, events int)
	c.rules.update(func() {
		draining = c.rules.draining
		s.gauge("dwatch_rules_last_reload_successful", "1 if the rules file was applied when it was last read.", truth(c.rules.isApplied), nil)
		s.gauge("dwatch_rules_last_reload_success_timestamp_seconds", "When the running rules were read, in seconds since the epoch.", float64(c.rules.reloaded.UnixMilli())/1000, nil)
	})
	outboxes, events := 0, 0
	if draining != nil {
		outboxes, events = draining()
	}
	s.gauge("dwatch_rules_lingering_outboxes", "Outboxes of changed or removed rules that still deliver to the former receiver.", float64(outboxes), nil)
	s.gauge("dwatch_rules_lingering_events", "Events that wait in the outboxes of changed or removed rules.", float64(events), nil)
	for _, metric := range s {
		to <- metric
	}
}
