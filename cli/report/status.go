package report

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"dwatch/watcher/event"
)

// status is the connection status of the watch. It has its own lock, so that it can be read while Deliver blocks.
type status struct {
	mu    sync.Mutex
	links *event.WatchStates
}

// before is the status before a status event: the state of its target, and the number of targets in PhaseLost.
type before struct {
	event.WatchState
	lost int
}

// begin forgets the status, and sets the targets.
func (s *status) begin(targets []event.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = event.NewWatchStates(targets)
}

// observe records an event. For a status event it returns the status before it, and how many targets are lost after it.
func (s *status) observe(e *event.Event) (was before, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.Type.IsStatus() || e.Type.IsKeepalive() {
		s.links.Observe(e)
		return before{}, 0
	}
	was = before{s.links.Get(e.Target), s.links.Count(event.PhaseLost)}
	s.links.Observe(e)
	return was, s.links.Count(event.PhaseLost)
}

func (s *status) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := "no event yet"
	if !s.links.LastEvent.IsZero() {
		last = "last event " + duration.HumanDuration(time.Since(s.links.LastEvent)) + " ago"
	}
	return s.connection() + "; " + last
}

// isConnecting reports whether some targets have not answered yet.
func (s *status) isConnecting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links.Count(event.PhaseConnecting) > 0
}

// connection describes the connection and the number of targets. s.mu must be held.
func (s *status) connection() string {
	all, denied := s.links.Present(), s.links.Count(event.PhaseDenied)
	what := fmt.Sprintf("%d resources", all)
	if all == 1 {
		what = "1 resource"
	}
	switch {
	case all == 0:
		return "waiting for a resource to watch"
	case denied == all:
		return "denied, trying again; " + what
	case denied > 0:
		what += fmt.Sprintf(", %d of them denied", denied)
	}
	switch {
	case s.links.Count(event.PhaseLost) > 0:
		return "connection lost, trying again; " + what
	case s.links.Count(event.PhaseConnecting) > 0:
		return "connecting; " + what
	default:
		return "connected; " + what
	}
}
