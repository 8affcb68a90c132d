package live

import (
	"fmt"
	"time"

	"dwatch/watcher/event"
)

// link is how the watch of a target is.
type link struct {
	// last is the last mark, and at when that came; empty: none did yet.
	last event.Type
	at   time.Time
	// synced: all that existed at the start is there. seen counts what came before.
	synced bool
	seen   int
}

// links are those of all targets.
type links map[event.Key]link

// mark takes over what a mark says.
func (l links) mark(e *event.Event) {
	if e.Type == event.Heartbeat {
		return
	}
	key := e.Target.Key()
	for other := range l {
		if key.Covers(other) {
			delete(l, other) // its place is taken
		}
	}
	one := l[key]
	if e.Type != one.last {
		one.at = e.Time
	}
	one.last = e.Type
	one.synced = one.synced && e.Type != event.Arrived || e.Type == event.Synced || e.Type == event.Gap
	l[key] = one
}

// count counts an object that a target had at the start.
func (l links) count(e *event.Event) {
	if !e.Initial {
		return
	}
	one := l[e.Target.Key()]
	one.seen++
	l[e.Target.Key()] = one
}

// trouble says in a word what is wrong with a link; empty if nothing is.
func (l link) trouble() string {
	switch l.last {
	case event.Disconnected:
		return "lost"
	case event.Denied:
		return "denied"
	case event.Gone:
		return "gone"
	}
	return ""
}

// trouble is that of one resource: of its targets in the worst state, and since when.
func (l links) trouble(of func(event.Key) bool) (worst string, since time.Time) {
	for _, want := range []string{"lost", "denied", "gone"} {
		for key, one := range l {
			if one.trouble() == want && of(key) && (since.IsZero() || one.at.Before(since)) {
				worst, since = want, one.at
			}
		}
		if worst != "" {
			return worst, since
		}
	}
	return "", time.Time{}
}

// health is how the connection is.
type health int

const (
	connecting health = iota
	connected
	lost
	denied
)

// health is that of all, in a word, and since when it is bad.
func (l links) health() (health, string, time.Time) {
	worst, since := l.trouble(func(event.Key) bool { return true })
	waiting := 0
	for _, one := range l {
		if one.last == "" || one.last == event.Arrived {
			waiting++
		}
	}
	switch {
	case worst == "lost":
		return lost, "connection lost", since
	case worst == "denied":
		return denied, "denied", since
	case len(l) == 0:
		return connecting, "waiting for a resource", since
	case waiting == len(l):
		return connecting, "connecting", since
	case waiting > 0:
		return connecting, fmt.Sprintf("connecting, %d of %d", len(l)-waiting, len(l)), since
	}
	return connected, "connected", since
}
