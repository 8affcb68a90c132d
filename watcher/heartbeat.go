package watcher

import (
	"time"

	"dwatch/watcher/event"
)

// heartbeat says how all targets are, as far as what was delivered says: it never knows
// more than the reader.
func heartbeat(links *event.Links) event.Event {
	return event.Event{
		Type: event.Heartbeat, Time: time.Now(),
		Count: links.Present(), Connected: links.Connected(), LastEvent: links.LastEvent,
	}
}

// ticks returns a channel that fires every d, and what stops it; no channel
// fires if d is 0.
func ticks(d time.Duration) (<-chan time.Time, func()) {
	if d <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}
