package watcher

import (
	"time"

	"dwatch/watcher/event"
)

// health is what a heartbeat reports: gathered from the events as they are
// delivered, so that it never knows more than the reader. It belongs to the loop.
type health struct {
	// connected has the targets that the server has.
	connected map[event.Key]bool
	lastEvent time.Time
}

func newHealth(targets []event.Target) *health {
	h := &health{connected: map[event.Key]bool{}}
	for _, t := range targets {
		h.connected[t.Key()] = false
	}
	return h
}

func (h *health) observe(e *event.Event) {
	switch e.Type {
	case event.Added, event.Modified, event.Deleted:
		h.lastEvent = e.Time
	case event.Synced, event.Reconnected, event.Gap:
		h.connected[e.Target.Key()] = true
	case event.Disconnected, event.Denied, event.Arrived:
		h.connected[e.Target.Key()] = false
	case event.Gone:
		h.forget(e.Target.Key())
	}
}

// forget leaves out a target that is watched no more.
func (h *health) forget(key event.Key) { delete(h.connected, key) }

func (h *health) beat() event.Event {
	all := true
	for _, connected := range h.connected {
		all = all && connected
	}
	return event.Event{Type: event.Heartbeat, Time: time.Now(), Count: len(h.connected), Connected: all, LastEvent: h.lastEvent}
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
