// Package plan turns what the command line names into targets to watch: once at the start, and
// again whenever the server may serve something else.
//
// Each resource is in a plan once for each namespace and name, and not at all if a wider target
// has it. What the name of a single resource was first taken for, it stays, whatever comes under
// that name later.
package plan
