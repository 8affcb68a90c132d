package event

import (
	"slices"
	"time"
)

// Phase is the condition of a target's watch.
type Phase uint8

const (
	// PhaseConnecting lasts until the initial list is complete. A target that arrives or joins
	// returns to it.
	PhaseConnecting Phase = iota
	PhaseLive
	PhaseLost   // the connection is lost; dwatch retries
	PhaseDenied // a permission is missing; dwatch retries
	PhaseGone   // the server no longer serves the resource; dwatch waits for it
)

// WatchState is the state of one target's watch. Its zero value has PhaseConnecting.
type WatchState struct {
	Target     Target
	LastStatus Type      // type of the latest status event except keepalives; empty if there was none
	Since      time.Time // when the current phase began; zero if there was no status event
	// Err is why the connection is lost or the watch denied.
	Err error
	// LastHeard is when the server was last heard from before the connection was last lost or the
	// watch was last denied. Until the watch is live again, later changes to objects are unknown.
	// LastHeard is zero if the server was never heard from, and means nothing in the other phases.
	LastHeard time.Time
	Count     int  // number of objects at the last Synced event
	Synced    bool // all existing objects have been reported since the target arrived or joined
	Denied    bool // the server's last answer was a refusal; stays true if the connection is then lost or the resource gone
	// Relisting is true if a list in progress, even the initial one, has revealed a change. Objects
	// that it has not reached yet may have changed, too.
	Relisting bool
}

// Phase returns the phase of a target after a status event of type t. It means nothing for keepalives
// and Left, which lead to no phase. The empty type means PhaseConnecting.
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

func (s *WatchState) Phase() Phase { return s.LastStatus.Phase() }

// WatchStates tracks the state of each target's watch from the events of the run.
//
// The first status event of a target adds it and removes the targets that it covers. A Left event
// removes a target, but a Gone event does not. WatchStates is not safe for concurrent use.
type WatchStates struct {
	LastEvent time.Time // when an object event was last reported

	all   []*WatchState
	byKey map[Key]*WatchState
}

// NewWatchStates returns the states of targets that are watched from the start.
func NewWatchStates(targets []Target) *WatchStates {
	states := &WatchStates{byKey: map[Key]*WatchState{}}
	for _, t := range targets {
		states.add(t)
	}
	return states
}

// Observe updates the states with the next event of the run.
func (states *WatchStates) Observe(e *Event) {
	switch {
	case e.Type.IsKeepalive():
	case e.Type == Left:
		states.remove(e.Target)
	case e.Type.IsStatus():
		states.add(e.Target).update(e)
	default:
		states.LastEvent = e.Time
		if !e.Listed {
			return
		}
		if s := states.byKey[e.Target.Key()]; s != nil {
			s.Relisting = true
		}
	}
}

// add returns the state of t. If t is new, add creates the state, and removes those of the targets
// that t covers.
func (states *WatchStates) add(t Target) *WatchState {
	key := t.Key()
	s := states.byKey[key]
	if s != nil {
		return s
	}
	states.all = slices.DeleteFunc(states.all, func(other *WatchState) bool { return key.Covers(other.Target.Key()) })
	for other := range states.byKey {
		if key.Covers(other) {
			delete(states.byKey, other)
		}
	}
	s = &WatchState{Target: t}
	states.all, states.byKey[key] = append(states.all, s), s
	return s
}

func (states *WatchStates) remove(t Target) {
	key := t.Key()
	delete(states.byKey, key)
	states.all = slices.DeleteFunc(states.all, func(s *WatchState) bool { return s.Target.Key() == key })
}

// update applies a status event, which is neither a keepalive nor Left.
func (s *WatchState) update(e *Event) {
	before := s.Phase()
	first := s.LastStatus == ""
	s.Target, s.LastStatus, s.Err, s.Relisting = e.Target, e.Type, e.Err, false
	phase := s.Phase()
	if first || phase != before {
		s.Since = e.Time
	}
	switch e.Type {
	case Synced:
		s.Count, s.Synced = e.Count, true
	case Gap:
		s.Synced = true
	case Disconnected:
		s.LastHeard = e.Heard
	case Denied:
		s.Denied, s.LastHeard = true, e.Heard
	case Arrived, Joined:
		s.Synced, s.Denied = false, false
	}
	s.Denied = s.Denied && phase != PhaseLive
}

// Get returns the state of t. It is zero if t is not watched.
func (states *WatchStates) Get(t Target) WatchState {
	if s := states.byKey[t.Key()]; s != nil {
		return *s
	}
	return WatchState{}
}

// All returns the states in the order in which their targets were added. The slice is valid until
// the next call of Observe.
func (states *WatchStates) All() []*WatchState { return states.all }

// Count returns the number of targets in phase p.
func (states *WatchStates) Count(p Phase) (n int) {
	for _, s := range states.all {
		if s.Phase() == p {
			n++
		}
	}
	return n
}

// Present returns the number of targets that are not gone.
func (states *WatchStates) Present() int { return len(states.all) - states.Count(PhaseGone) }

// Connected reports whether all targets that are not gone are live.
func (states *WatchStates) Connected() bool { return states.Count(PhaseLive) == states.Present() }
