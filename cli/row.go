package cli

import (
	"encoding/json"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
)

// ownColumns are those of a table of which no server is asked.
var ownColumns = []output.Column{
	{Name: "Name", Type: "string", Format: "name"},
	{Name: "Status", Type: "string"},
	{Name: "Age", Type: "string"},
	{Name: "Message", Type: "string", Priority: 1},
}

// withRow returns an object with a row of ownColumns, as of a time. What has no status is Current.
func withRow(o event.Object, now time.Time) event.Object {
	cells := []string{o.Name, kstatus.UnknownStatus.String(), "<unknown>", ""}
	before, after := event.CutManagedFields(o.Raw())
	part := status.TrimContent(o.APIVersion, o.Kind, before+after) // to decode all takes longer than all else
	if u, err := event.NewObject(o.Identity, part).Decode(); err == nil {
		state := status.Of(u)
		cells[1], cells[3] = state.Word.String(), state.Message
		cells[2] = output.FormatAge(now, u.GetCreationTimestamp().Time)
	}
	row, err := json.Marshal(map[string]any{"columnDefinitions": ownColumns, "cells": cells})
	if err != nil {
		panic(err) // it holds nothing but strings
	}
	return o.WithRow(string(row))
}
