// Package event has what the watcher reports: events, the targets they come from, the objects they
// show, and [Sink], the one interface of everything that takes them.
//
// It is a leaf: it imports nothing of dwatch, and everything else may import it.
package event
