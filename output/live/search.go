package live

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output/inventory"
)

const (
	// atOnce is how long a key may wait for a search. What takes longer goes on beside
	// the screen, and reports each searchStep how far it has come.
	atOnce     = 10 * time.Millisecond
	searchStep = 100 * time.Millisecond
)

// search finds out of which objects an expression holds. Each has to be decoded for that,
// which takes a second for 10,000. The rows are those from before until it is done.
type search struct {
	filter filter
	// found says of the states that were looked at whether it holds; todo are those
	// that are left of those at the start.
	found map[*inventory.State]bool
	todo  []*inventory.State
}

// searchedMsg says that a search has come further.
type searchedMsg struct{ *search }

// look goes on with a search for about that long.
func (s *search) look(d time.Duration) {
	end := time.Now().Add(d)
	for len(s.todo) > 0 && time.Now().Before(end) {
		state := s.todo[0]
		s.todo = s.todo[1:]
		s.found[state] = s.filter.holds(state.Object)
	}
}

// lookOn goes on with a search beside the screen, which does not look at it meanwhile.
func (s *search) lookOn() tea.Msg {
	s.look(searchStep)
	return searchedMsg{s}
}
