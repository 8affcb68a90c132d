//go:build race

// Package race tells tests whether the race detector is on, which makes them about ten times slower.
package race

// Enabled is true if the race detector is on.
const Enabled = true
