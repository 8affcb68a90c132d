package live

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/watcher/event"
)

const (
	// atOnce is how long a key may wait for a search. What takes longer goes on beside
	// the screen, and tells it each searchStep how far it has come.
	atOnce     = 10 * time.Millisecond
	searchStep = 100 * time.Millisecond
)

// search finds out of which objects an expression holds. Each has to be decoded for that,
// which takes a second for 10,000. The rows are those from before until it is done.
type search struct {
	filter filter
	// found says of the objects that were looked at whether it holds; todo are those
	// that are left of those at the start.
	found map[*event.Identity]bool
	todo  []event.Object
}

// searchedMsg says that a search has come further.
type searchedMsg struct{ *search }

// look goes on with a search for about that long.
func (s *search) look(d time.Duration) {
	end := time.Now().Add(d)
	for len(s.todo) > 0 && time.Now().Before(end) {
		o := s.todo[0]
		s.todo = s.todo[1:]
		s.found[o.Identity] = s.filter.holds(o)
	}
}

// lookOn goes on with a search beside the screen, which does not look at it meanwhile.
func (s *search) lookOn() tea.Msg {
	s.look(searchStep)
	return searchedMsg{s}
}

// beginSearch shows the rows of which an expression holds, at once or when that is known.
func (m *model) beginSearch(f filter) tea.Cmd {
	m.search = &search{filter: f, found: map[*event.Identity]bool{}}
	return m.searched(m.search)
}

// searched shows what a search has found, or has it go on, first with what has changed
// meanwhile. A search that is not the present one any more ends.
func (m *model) searched(s *search) tea.Cmd {
	if m.search != s {
		return nil
	}
	if len(s.todo) == 0 {
		s.todo = m.unknown(s)
		s.look(atOnce)
	}
	if left := len(s.todo); left > 0 {
		m.searchedPart = 100 * len(s.found) / (len(s.found) + left)
		return s.lookOn
	}
	m.search = nil
	for _, t := range m.tables() {
		t.choose(s.filter, s.found)
	}
	return nil
}

// unknown are the objects that a search has not looked at.
func (m *model) unknown(s *search) []event.Object {
	var objects []event.Object
	for _, t := range m.tables() {
		for _, section := range t.sections {
			for _, r := range section.rows {
				if _, is := s.found[r.object.Identity]; !is {
					objects = append(objects, r.object)
				}
			}
		}
	}
	return objects
}
