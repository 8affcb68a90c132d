package live

import (
	"fmt"
	"time"

	"dwatch/watcher/event"
)

// connection returns the worst phase of all watches, its description, and the time at which it was lost or denied. With several
// clusters, the description is the number of connected clusters, and the time is zero. It requires s.mu to be held.
func (s *store) connection() (event.Phase, string, time.Time) {
	if s.Clusters != nil {
		phase, connected, all := s.combinedState()
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

// combinedState returns the most urgent phase of all clusters, and how many are connected.
func (s *store) combinedState() (phase event.Phase, connected, all int) {
	phase = event.PhaseLive
	standings := s.clusterStates()
	for _, one := range standings {
		if one.Phase == event.PhaseLive {
			connected++
		}
		if urgency(one.Phase) > urgency(phase) {
			phase = one.Phase
		}
	}
	if len(standings) == 0 { // contexts may be added later
		phase = event.PhaseConnecting
	}
	return phase, connected, len(standings)
}
