package watcher

import "time"

// pulse is what a heartbeat tells: gathered from the events as they are emitted,
// so that it never knows more than the reader. It is used by Run's loop alone.
type pulse struct {
	// connected has the targets that the server has.
	connected map[TargetKey]bool
	lastEvent time.Time
}

func newPulse(targets []Target) *pulse {
	p := &pulse{connected: map[TargetKey]bool{}}
	for _, t := range targets {
		p.connected[t.Key()] = false
	}
	return p
}

func (p *pulse) observe(e Event) {
	switch e.Type {
	case Added, Modified, Deleted:
		p.lastEvent = time.Now()
	case Synced, Reconnected, Gap:
		p.connected[e.Target.Key()] = true
	case Disconnected, Denied, Arrived:
		p.connected[e.Target.Key()] = false
	case Gone:
		delete(p.connected, e.Target.Key())
	}
}

func (p *pulse) beat() Event {
	all := true
	for _, connected := range p.connected {
		all = all && connected
	}
	return Event{Type: Heartbeat, Time: time.Now(), Count: len(p.connected), Connected: all, LastEvent: p.lastEvent}
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
