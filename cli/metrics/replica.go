package metrics

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Replica is one of several of which one leads. What it measures is that of its present run, of which there is one after the
// other. All methods may be called at any time, from any goroutine; a nil Replica measures nothing.
type Replica struct {
	mu      sync.Mutex
	leads   func() bool
	collect func(chan<- prometheus.Metric) // nil: no run has begun
	healthy func() error
	ready   func() error
}

// Runs says of which run the numbers are from now on, and what knows whether the replica leads with it.
func (r *Replica) SetRun(m *Metrics, leads func() bool) {
	r.runs(leads, collector{m}.Collect, m.CheckHealthy, m.CheckReady)
}

// RunsRules is Runs for rules.
func (r *Replica) SetRulesRun(rules *Rules, leads func() bool) {
	r.runs(leads, rulesCollector{rules}.Collect, rules.healthy, rules.ready)
}

func (r *Replica) runs(leads func() bool, collect func(chan<- prometheus.Metric), healthy, ready func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads, r.collect, r.healthy, r.ready = leads, collect, healthy, ready
}

// ListenReplica is Listen for a replica: it is as well and as ready as its present run, whether it leads or stands by.
func ListenReplica(address, version string, r *Replica) (*Server, error) {
	registry := processRegistry(version)
	registry.MustRegister(replicaCollector{r})
	return listen(address, answers(registry, func() error { return r.ask(true) }, func() error { return r.ask(false) }))
}

func (r *Replica) ask(whetherHealthy bool) error {
	r.mu.Lock()
	healthy, ready := r.healthy, r.ready
	r.mu.Unlock()
	switch {
	case healthy == nil && whetherHealthy: // what it does before has timeouts
		return nil
	case healthy == nil:
		return errors.New("connecting")
	case whetherHealthy:
		return healthy()
	}
	return ready()
}

type replicaCollector struct{ of *Replica }

// Describe says nothing: it depends on the run.
func (replicaCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c replicaCollector) Collect(to chan<- prometheus.Metric) {
	c.of.mu.Lock()
	leads, collect := c.of.leads, c.of.collect
	c.of.mu.Unlock()
	if collect != nil {
		collect(to)
	}
	var s samples
	s.gauge("dwatch_leading", "Whether this replica holds the Lease, and works.", truth(leads != nil && leads()), nil)
	to <- s[0]
}
