// Package metrics says over HTTP how a run is: /metrics for Prometheus, /healthz and
// /readyz for probes.
//
// [Metrics] are counted by two stages. The first stands before all others and sees what
// the watcher reports; the second stands before what prints or delivers, and sees for how
// long that takes. What is known of a receiver comes from its queue.
//
// The text is written here, in Prometheus' text format 0.0.4. client_golang would do that,
// but its packages take 0.6 ms to initialize at each start of dwatch, whether it listens or
// not. A test has its linter read what is written.
package metrics
