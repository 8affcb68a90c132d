package report

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"dwatch/watcher/event"
)

// status is how the watch is, for who asks from another goroutine, also while the
// events wait for a reader.
type status struct {
	mu sync.Mutex
	// targets has the last mark of each; none at first.
	targets map[event.Key]event.Type
	// lastEvent is when an object was last reported.
	lastEvent time.Time
}

func (s *status) begin(targets []event.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.targets = map[event.Key]event.Type{}
	for _, t := range targets {
		s.targets[t.Key()] = ""
	}
}

func (s *status) observe(batch []event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range batch {
		switch e := &batch[i]; {
		case !e.Type.IsMark():
			s.lastEvent = e.Time
		case e.Type != event.Heartbeat:
			s.mark(e.Target.Key(), e.Type)
		}
	}
}

func (s *status) mark(key event.Key, mark event.Type) {
	if s.targets == nil {
		s.targets = map[event.Key]event.Type{}
	}
	for other := range s.targets {
		if key.Covers(other) {
			delete(s.targets, other) // its place is taken
		}
	}
	if s.targets[key] = mark; mark == event.Gone {
		delete(s.targets, key)
	}
}

// String says it in one line.
func (s *status) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := "no event yet"
	if !s.lastEvent.IsZero() {
		last = "last event " + duration.HumanDuration(time.Since(s.lastEvent)) + " ago"
	}
	return s.connection() + "; " + last
}

// connection says whether all that is watched is connected.
func (s *status) connection() string {
	all, with := len(s.targets), map[event.Type]int{}
	for _, mark := range s.targets {
		with[mark]++
	}
	what := fmt.Sprintf("%d resources", all)
	if all == 1 {
		what = "1 resource"
	}
	denied := with[event.Denied]
	switch {
	case all == 0:
		return "waiting for a resource to watch"
	case denied == all:
		return "denied, trying again; " + what
	case denied > 0:
		what += fmt.Sprintf(", %d of them denied", denied)
	}
	switch {
	case with[event.Disconnected] > 0:
		return "connection lost, trying again; " + what
	case with[""]+with[event.Arrived] > 0:
		return "connecting; " + what
	default:
		return "connected; " + what
	}
}
