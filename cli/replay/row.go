package replay

import (
	"context"
	"encoding/json"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
)

// ownColumns are the columns of a table for which no server is asked.
var ownColumns = []output.Column{
	{Name: "Name", Type: "string", Format: "name"},
	{Name: "Status", Type: "string"},
	{Name: "Age", Type: "string"},
	{Name: "Message", Type: "string", Priority: 1},
}

// WithRow returns an object with a row of ownColumns, as of a time.
func WithRow(o event.Object, now time.Time) event.Object {
	cells := []string{o.Name, kstatus.UnknownStatus.String(), "<unknown>", ""}
	before, after := event.CutManagedFields(o.Raw())
	part := status.TrimContent(o.APIVersion, o.Kind, before+after) // decoding the whole object would take most of the time
	if u, err := event.NewObject(o.Identity, part).Decode(); err == nil {
		state := status.Of(u)
		cells[1], cells[3] = state.Word.String(), state.Message
		cells[2] = output.FormatAge(now, u.GetCreationTimestamp().Time)
	}
	row, err := json.Marshal(map[string]any{"columnDefinitions": ownColumns, "cells": cells})
	if err != nil {
		panic(err) // strings always encode
	}
	return o.WithRow(string(row))
}

// addRows returns a Sink before next that gives each object a row.
func addRows(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for i := range batch {
			if e := &batch[i]; !e.Type.IsStatus() {
				e.Object = WithRow(e.Object, e.Time)
			}
		}
		return next.Deliver(ctx, batch)
	})
}
