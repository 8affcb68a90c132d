package live

import (
	"fmt"
	"time"

	"dwatch/watcher/event"
)

// connection is how all that is watched is, in a phase and in words, and since when it is lost or denied.
// Of several clusters it says how many are connected. The store is locked.
func (s *store) connection() (event.Phase, string, time.Time) {
	if s.Clusters != nil {
		phase, connected, all := s.together()
		word := fmt.Sprintf("%d of %d connected", connected, all)
		if connected == all {
			word = fmt.Sprintf("%d connected", all)
		}
		return phase, word, time.Time{}
	}
	worst := s.links.WorstProblem(func(*event.WatchState) bool { return true })
	all, waiting := len(s.links.All()), s.links.Count(event.PhaseConnecting)
	switch {
	case worst.Phase == event.PhaseLost:
		return worst.Phase, "connection lost", worst.Since
	case worst.Phase == event.PhaseDenied:
		return worst.Phase, "denied", worst.Since
	case all == 0:
		return event.PhaseConnecting, "waiting for a resource", time.Time{}
	case waiting == all:
		return event.PhaseConnecting, "connecting", time.Time{}
	case waiting > 0:
		return event.PhaseConnecting, fmt.Sprintf("connecting, %d of %d", all-waiting, all), time.Time{}
	}
	return event.PhaseLive, "connected", time.Time{}
}

// together is the phase of that of several clusters which needs a look most, and how many are connected.
func (s *store) together() (phase event.Phase, connected, all int) {
	phase = event.PhaseLive
	standings := s.standings()
	for _, one := range standings {
		if one.Phase == event.PhaseLive {
			connected++
		}
		if need(one.Phase) > need(phase) {
			phase = one.Phase
		}
	}
	if len(standings) == 0 { // they may come
		phase = event.PhaseConnecting
	}
	return phase, connected, len(standings)
}
