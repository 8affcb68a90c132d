package main

import (
	"fmt"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// keep says which events are printed.
type keep struct {
	watchOnly bool
	types     []event.Type // empty: all
	marks     bool
}

func parseKeep(watchOnly bool, types []string, marks bool) (keep, error) {
	k := keep{watchOnly: watchOnly, marks: marks}
	known := []event.Type{event.Added, event.Modified, event.Deleted}
	for _, t := range types {
		i := slices.Index(known, event.Type(strings.ToUpper(strings.TrimSpace(t))))
		if i < 0 {
			return k, fmt.Errorf("invalid --types %q: it takes added, modified and deleted", t)
		}
		k.types = append(k.types, known[i])
	}
	return k, nil
}

// passes tells whether e is to be printed. There are no heartbeats that were not
// asked for.
func (k keep) passes(e event.Event) bool {
	switch {
	case e.Type.IsMark():
		return k.marks || e.Type == event.Heartbeat
	case k.watchOnly && e.Initial:
		return false
	default:
		return len(k.types) == 0 || slices.Contains(k.types, e.Type)
	}
}

// filter passes on what is to be printed.
func (k keep) filter(next func(event.Event) error) func(event.Event) error {
	return func(e event.Event) error {
		if !k.passes(e) {
			return nil
		}
		return next(e)
	}
}
