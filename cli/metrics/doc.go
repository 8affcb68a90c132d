// Package metrics says over HTTP how a run is: /metrics for Prometheus, /healthz and
// /readyz for probes.
//
// [Metrics] are counted by two stages. The first stands before all others and sees what
// the watcher reports; the second stands before what prints or delivers, and sees for how
// long that takes. What is known of a receiver comes from its queue.
//
// client_golang makes the text of it, from a registry of its own: a scrape takes what is
// known at that moment, so that nothing has to be counted twice. Of the process and of the
// Go runtime it has collectors. Its packages take 0.5 ms to initialize at each start of
// dwatch, whether it listens or not.
package metrics
