// Package event defines what the watcher reports: events, the targets and objects they describe,
// and [Sink], the interface of everything that consumes them.
//
// It is a leaf package: it imports no other package of dwatch.
package event
