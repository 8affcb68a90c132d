package output

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// CoalesceEventSeries returns a Sink that merges successive changes of a Kubernetes Event in a batch, and passes only its last state
// to next. A slow reader does not get each count of a series. Existing and deleted Events are not merged, nor are changes before and
// after a status event.
func CoalesceEventSeries(next event.Sink) event.Sink {
	return &seriesCoalescer{next: next}
}

type seriesCoalescer struct {
	next  event.Sink
	batch []event.Event // a buffer
}

// Deliver implements event.Sink.
func (f *seriesCoalescer) Deliver(ctx context.Context, batch []event.Event) error {
	var first map[types.UID]int       // the index in f.batch for the last state of an Event
	defer func() { clear(f.batch) }() // releases the objects
	f.batch = f.batch[:0]
	for i := range batch {
		e := &batch[i]
		if e.Type.IsStatus() {
			first = nil // events must not move across a status event
		}
		if e.Type.IsStatus() || !e.Object.IsEvent() || e.Type == event.Deleted || e.Initial {
			f.batch = append(f.batch, *e)
			continue
		}
		if at, again := first[e.Object.UID]; again && e.Type == event.Modified {
			f.batch[at].Object, f.batch[at].Time = e.Object, e.Time
			continue
		}
		if first == nil {
			first = map[types.UID]int{}
		}
		first[e.Object.UID] = len(f.batch)
		f.batch = append(f.batch, *e)
	}
	return f.next.Deliver(ctx, f.batch)
}

// namedCell returns a function that returns the text of an object's cell by the name of its column.
func (t *table) namedCell(o event.Object) func(column string) string {
	return func(column string) string {
		for i, c := range t.columns {
			if strings.EqualFold(c.Name, column) {
				return gjson.Get(o.Row(), "cells."+strconv.Itoa(i)).String()
			}
		}
		return ""
	}
}

// countSeries adds the count and the duration of a series to the cell LAST SEEN of an Event, as "kubectl events" does.
func countSeries(header, cells []string, value func(column string) string) {
	at := slices.Index(header, "LAST SEEN")
	count, err := strconv.Atoi(value("Count"))
	if at < 0 || err != nil || count < 2 {
		return
	}
	cells[at] = fmt.Sprintf("%s (x%d over %s)", cells[at], count, value("First Seen"))
}
