// Package filter leaves events out of a stream: it has stages around a Sink.
package filter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// Options says which events pass. With the zero value all do, but for marks.
type Options struct {
	WatchOnly bool         // leaves out the objects that exist at the start
	Types     []event.Type // of the objects' events that pass; empty means all
	// Where says of an object's event whether it passes; nil: it does. It is asked last.
	Where func(*event.Event) bool
	// Marks lets marks pass. A heartbeat always does: there is none that was not asked for.
	PassStatus bool
}

func ParseTypes(words []string) ([]event.Type, error) {
	var types []event.Type
	known := []event.Type{event.Added, event.Modified, event.Deleted}
	for _, word := range words {
		i := slices.Index(known, event.Type(strings.ToUpper(strings.TrimSpace(word))))
		if i < 0 {
			err := fmt.Errorf("invalid --types %q: it takes added, modified and deleted", word)
			if word == "Normal" || word == "Warning" { // kubectl events has them
				err = fmt.Errorf("%w; of events of that type, --where \"object.type == '%s'\"", err, word)
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
	passing []event.Event // of the present batch; the memory is used again
}

// New returns a Sink that delivers to next what passes. A batch of which nothing passes is not
// delivered.
func New(next event.Sink, o Options) event.Sink { return &filter{Options: o, next: next} }

// Deliver implements event.Sink.
func (f *filter) Deliver(ctx context.Context, batch []event.Event) error {
	first := 0 // that does not pass
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
	defer func() { clear(f.passing) }() // so that the objects do not stay in memory
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
