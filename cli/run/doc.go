// Package run puts runs together: a Config, a Source and a Destination become one pipeline.
//
//	Config       the command line as immutable values
//	Source       produces events: one cluster, several clusters, or a recording (package replay)
//	Stage        one step between the two; stages (pipeline.go) lists all of them in order
//	Destination  consumes events: stdout, a screen, a page, a receiver (package destination)
//
// Run (run.go) is the life of a run from top to bottom.
//
// A Session is one connected cluster: the names resolved, the rights known. A Scope is what the destination and the conditions
// know about a run, whatever its Source: targets, clusters, short names, the clock.
package run
