package metrics

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Replica has the metrics of a replica that takes part in an election (--lease). A replica has one run after another; the
// metrics are those of the current run. All methods may be called at any time, from any goroutine.
type Replica struct {
	mu      sync.Mutex
	leads   func() bool
	collect func(chan<- prometheus.Metric) // nil before the first run
	healthy func() error
	ready   func() error
}

// SetRun sets the current run. leads reports whether the replica holds the Lease.
func (r *Replica) SetRun(m *Metrics, leads func() bool) {
	r.setRun(leads, collector{m}.Collect, m.CheckHealthy, m.CheckReady)
}

// SetRulesRun is like SetRun, for a run of rules.
func (r *Replica) SetRulesRun(rules *Rules, leads func() bool) {
	r.setRun(leads, rulesCollector{rules}.Collect, rules.healthy, rules.ready)
}

func (r *Replica) setRun(leads func() bool, collect func(chan<- prometheus.Metric), healthy, ready func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads, r.collect, r.healthy, r.ready = leads, collect, healthy, ready
}

// ListenReplica is like Listen, for a replica. It is as healthy and as ready as its current run, whether it leads or not.
func ListenReplica(address, version string, r *Replica) (*Server, error) {
	registry := processRegistry(version)
	registry.MustRegister(replicaCollector{r})
	return listen(address, answers(registry, r.checkHealthy, r.checkReady))
}

func (r *Replica) checkHealthy() error {
	r.mu.Lock()
	healthy := r.healthy
	r.mu.Unlock()
	if healthy == nil { // before the first run; connecting has timeouts
		return nil
	}
	return healthy()
}

func (r *Replica) checkReady() error {
	r.mu.Lock()
	ready := r.ready
	r.mu.Unlock()
	if ready == nil {
		return errors.New("connecting")
	}
	return ready()
}

type replicaCollector struct{ replica *Replica }

// Describe sends nothing: which metrics exist depends on the run.
func (replicaCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c replicaCollector) Collect(to chan<- prometheus.Metric) {
	c.replica.mu.Lock()
	leads, collect := c.replica.leads, c.replica.collect
	c.replica.mu.Unlock()
	if collect != nil {
		collect(to)
	}
	var s samples
	s.gauge("dwatch_leading", "1 while this replica certainly holds the Lease.", truth(leads != nil && leads()), nil)
	to <- s[0]
}
