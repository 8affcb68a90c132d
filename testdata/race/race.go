//go:build race

// Package race tells tests whether the race detector is on, which makes them some ten times as slow.
package race

// Enabled: the race detector is on.
const Enabled = true
