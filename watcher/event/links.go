package event

import (
	"slices"
	"time"
)

// Phase is how the watch of a target stands.
type Phase uint8

const (
	// PhaseConnecting: what exists is not known yet. So it begins, and so does a target
	// that has arrived.
	PhaseConnecting Phase = iota
	// PhaseLive: what becomes of the objects is reported.
	PhaseLive
	// PhaseLost: the connection is lost, and tried again.
	PhaseLost
	// PhaseDenied: a right is missing, and it is tried again.
	PhaseDenied
	// PhaseGone: the server no longer has the resource, which is waited for.
	PhaseGone
)

// Link is how the watch of one target stands. The zero Link is that of a target of which
// nothing is known.
type Link struct {
	Target Target
	// Mark is the last mark; empty if none has come yet.
	Mark Type
	// Since is when Phase became what it is; zero if no mark has come yet.
	Since time.Time
	// Err says why it is lost or denied, and Heard when something was last heard of the
	// server before it was lost. What is known of the objects is of that time: a server that
	// is silent is noticed late.
	Err   error
	Heard time.Time
	// Count is how many objects there were at the last Synced.
	Count int
	// Synced: all that existed has been reported once since the target arrived.
	Synced bool
	// Denied: the last answer was that a right is missing. It stays so while the
	// connection is lost.
	Denied bool
	// Relisting: the server names all that there is. What is known of an object that it has
	// not named may be of before.
	Relisting bool
}

// Phase returns in which phase a target is after a mark of this type.
func (t Type) Phase() Phase {
	switch t {
	case Synced, Reconnected, Gap:
		return PhaseLive
	case Disconnected:
		return PhaseLost
	case Denied:
		return PhaseDenied
	case Gone:
		return PhaseGone
	default:
		return PhaseConnecting
	}
}

// Phase returns the phase that the last mark led to.
func (l *Link) Phase() Phase { return l.Mark.Phase() }

// Links is the state of the connection: how the watch of each target stands, as the events
// of a run say. What they say counts when they are observed, so that who asks never knows
// more than who gets the events.
//
// A target joins with its first mark, and takes the place of those that it covers. One that
// is gone stays, as PhaseGone, until it arrives again. Links are not safe for concurrent use.
type Links struct {
	// LastEvent is when an object was last reported; zero if none was.
	LastEvent time.Time

	all   []*Link
	byKey map[Key]*Link
}

// NewLinks returns the Links of targets that are watched from the start.
func NewLinks(targets []Target) *Links {
	l := &Links{byKey: map[Key]*Link{}}
	for _, t := range targets {
		l.join(t)
	}
	return l
}

// Observe takes the next event of the run.
func (l *Links) Observe(e *Event) {
	switch {
	case e.Type == Heartbeat:
	case e.Type.IsMark():
		l.join(e.Target).mark(e)
	default:
		l.LastEvent = e.Time
		if !e.Listed {
			return
		}
		if link := l.byKey[e.Target.Key()]; link != nil {
			link.Relisting = true
		}
	}
}

// join returns the link of a target, which is there from now on.
func (l *Links) join(t Target) *Link {
	key := t.Key()
	link := l.byKey[key]
	if link != nil {
		return link
	}
	l.all = slices.DeleteFunc(l.all, func(other *Link) bool { return key.Covers(other.Target.Key()) })
	for other := range l.byKey {
		if key.Covers(other) {
			delete(l.byKey, other)
		}
	}
	link = &Link{Target: t}
	l.all, l.byKey[key] = append(l.all, link), link
	return link
}

func (l *Link) mark(e *Event) {
	before := l.Phase()
	first := l.Mark == ""
	l.Target, l.Mark, l.Err, l.Relisting = e.Target, e.Type, e.Err, false
	phase := l.Phase()
	if first || phase != before {
		l.Since = e.Time
	}
	switch e.Type {
	case Synced:
		l.Count, l.Synced = e.Count, true
	case Gap:
		l.Synced = true
	case Disconnected:
		l.Heard = e.Heard
	case Denied:
		l.Denied = true
	case Arrived:
		l.Synced, l.Denied = false, false
	}
	l.Denied = l.Denied && phase != PhaseLive
}

// Of returns the link of a target; the zero Link if it is not watched.
func (l *Links) Of(t Target) Link {
	if link := l.byKey[t.Key()]; link != nil {
		return *link
	}
	return Link{}
}

// All returns the links in the order in which their targets joined, also of those that are
// gone. They are not to be changed, and true until the next Observe.
func (l *Links) All() []*Link { return l.all }

// Count returns how many targets are in a phase.
func (l *Links) Count(p Phase) int {
	n := 0
	for _, link := range l.all {
		if link.Phase() == p {
			n++
		}
	}
	return n
}

// Present returns how many targets the server has, as far as is known: all that are not gone.
func (l *Links) Present() int { return len(l.all) - l.Count(PhaseGone) }

// Connected reports whether all targets that the server has are live.
func (l *Links) Connected() bool { return l.Count(PhaseLive) == l.Present() }
