// Package metrics serves the state of a run over HTTP: /metrics for Prometheus, /healthz and /readyz for probes.
//
// [Metrics] are updated by two stages of a run. The input stage counts the events of the watcher. The output stage notes
// whether the run is waiting for the output or the delivery. The delivery queue has its own numbers, which every scrape reads.
package metrics
