// Package metrics says over HTTP how a run is: /metrics for Prometheus, /healthz and
// /readyz for probes.
//
// [Metrics] are counted by two stages: one before all others sees what the watcher reports, and
// one before what prints or delivers sees for how long that takes. What is known of a receiver
// comes from its queue. A scrape takes what is known at that moment: nothing is counted twice.
package metrics
