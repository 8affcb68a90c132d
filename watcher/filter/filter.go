// Package filter has a stage that drops events of a stream.
package filter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// Options says which events pass. The zero value passes all events of objects, and heartbeats.
type Options struct {
	WatchOnly bool         // drops the initial Added events
	Types     []event.Type // types of object events that pass; empty means all
	// Where decides whether an object event passes that has passed the other options. nil passes
	// all.
	Where func(*event.Event) bool
	// PassStatus passes status events. Heartbeats always pass because they only exist if they were
	// requested.
	PassStatus bool
}

func ParseTypes(words []string) ([]event.Type, error) {
	var types []event.Type
	known := []event.Type{event.Added, event.Modified, event.Deleted}
	for _, word := range words {
		i := slices.Index(known, event.Type(strings.ToUpper(strings.TrimSpace(word))))
		if i < 0 {
			err := fmt.Errorf("invalid --types %q: must be added, modified or deleted", word)
			if word == "Normal" || word == "Warning" { // kubectl events has them
				err = fmt.Errorf("%w; for Events of that type, use --where \"object.type == '%s'\"", err, word)
			}
			return nil, err
		}
		types = append(types, known[i])
	}
	return types, nil
}

type filter struct {
	Options
	next    event.Sink
	passing []event.Event // of the current batch; the memory is reused
}

// New returns a Sink that passes events on to next. It does not call next for a batch without such
// events.
func New(next event.Sink, o Options) event.Sink { return &filter{Options: o, next: next} }

// Deliver implements event.Sink.
func (f *filter) Deliver(ctx context.Context, batch []event.Event) error {
	first := 0 // the first event that does not pass
	for first < len(batch) && f.passes(&batch[first]) {
		first++
	}
	if first == len(batch) {
		return f.next.Deliver(ctx, batch)
	}
	f.passing = append(f.passing[:0], batch[:first]...)
	for i := first + 1; i < len(batch); i++ {
		if e := &batch[i]; f.passes(e) {
			f.passing = append(f.passing, *e)
		}
	}
	if len(f.passing) == 0 {
		return nil
	}
	defer func() { clear(f.passing) }() // so that the objects can be freed
	return f.next.Deliver(ctx, f.passing)
}

func (f *filter) passes(e *event.Event) bool {
	switch {
	case e.Type.IsStatus():
		return f.PassStatus || e.Type == event.Heartbeat
	case f.WatchOnly && e.Initial:
		return false
	case len(f.Types) > 0 && !slices.Contains(f.Types, e.Type):
		return false
	default:
		return f.Where == nil || f.Where(e)
	}
}
