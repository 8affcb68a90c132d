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

// FoldSeries returns a Sink before next to which of each Event of Kubernetes only the last state in
// a batch comes: who is late is not told each number of how often the same has happened.
func CoalesceEventSeries(next event.Sink) event.Sink {
	return &folder{next: next}
}

type folder struct {
	next   event.Sink
	folded []event.Event // of the present batch; the memory is used again
}

// Deliver implements event.Sink.
func (f *folder) Deliver(ctx context.Context, batch []event.Event) error {
	var first map[types.UID]int        // where in folded its last state goes
	defer func() { clear(f.folded) }() // so that the objects do not stay in memory
	f.folded = f.folded[:0]
	for i := range batch {
		e := &batch[i]
		if e.Type.IsStatus() {
			first = nil // what comes after it does not go before it
		}
		if e.Type.IsStatus() || !e.Object.IsEvent() || e.Type == event.Deleted || e.Initial {
			f.folded = append(f.folded, *e)
			continue
		}
		if at, again := first[e.Object.UID]; again && e.Type == event.Modified {
			f.folded[at].Object, f.folded[at].Time = e.Object, e.Time
			continue
		}
		if first == nil {
			first = map[types.UID]int{}
		}
		first[e.Object.UID] = len(f.folded)
		f.folded = append(f.folded, *e)
	}
	return f.next.Deliver(ctx, f.folded)
}

func (t *table) named(o event.Object) func(column string) string {
	return func(column string) string {
		for i, c := range t.columns {
			if strings.EqualFold(c.Name, column) {
				return gjson.Get(o.Row(), "cells."+strconv.Itoa(i)).String()
			}
		}
		return ""
	}
}

// countSeries adds to when an Event was last seen how often it was and in what time, which of the
// table only wide shows, as "kubectl events" does.
func countSeries(header, cells []string, value func(column string) string) {
	at := slices.Index(header, "LAST SEEN")
	count, err := strconv.Atoi(value("Count"))
	if at < 0 || err != nil || count < 2 {
		return
	}
	cells[at] = fmt.Sprintf("%s (x%d over %s)", cells[at], count, value("First Seen"))
}
