package event

import (
	"slices"
	"time"
)

// Phase is how the watch of a target stands.
type Phase uint8

const (
	// PhaseConnecting: what exists is not known yet, or not since the target arrived.
	PhaseConnecting Phase = iota
	PhaseLive
	PhaseLost   // and tried again
	PhaseDenied // a right is missing, and it is tried again
	PhaseGone   // the server no longer has the resource, which is waited for
)

// Link is how the watch of one target stands; zero if nothing is known.
type Link struct {
	Target Target
	Mark   Type      // the last one; empty if none has come yet
	Since  time.Time // when Phase became what it is; zero if no mark has come yet
	// Err says why it is lost or denied, and Heard when something was last heard of the server
	// before it was lost. What is known of the objects is of that time.
	Err    error
	Heard  time.Time
	Count  int  // of the objects, at the last Synced
	Synced bool // all that existed has been reported once since the target arrived
	Denied bool // the last answer was that a right is missing; also while the connection is lost
	// Relisting: the server names all that there is. What it has not named may be of before.
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

func (l *Link) Phase() Phase { return l.Mark.Phase() }

// Links is the state of the connection: how the watch of each target stands, as the events that
// were observed say. A target joins with its first mark, and takes the place of those that it
// covers. One that is gone stays until it arrives again, and one that has left is there no more. Not safe for concurrent use.
type Links struct {
	LastEvent time.Time // when an object was last reported

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
	case e.Type.IsSign():
	case e.Type == Left:
		l.leave(e.Target)
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

func (l *Links) leave(t Target) {
	key := t.Key()
	delete(l.byKey, key)
	l.all = slices.DeleteFunc(l.all, func(link *Link) bool { return link.Target.Key() == key })
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
	case Arrived, Joined:
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

// All returns the links, to be read until the next Observe, in the order in which their targets
// joined.
func (l *Links) All() []*Link { return l.all }

// Count returns how many targets are in a phase.
func (l *Links) Count(p Phase) (n int) {
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
