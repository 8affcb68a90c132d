package inventory

import (
	"container/list"
	"slices"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// State is an object as one event showed it. It never changes, except for Repeat. It embeds its parts because views read
// them as members of the state.
type State struct {
	Entry *Entry
	// Members of the event.
	Type                               event.Type
	Time                               time.Time
	Target                             event.Target
	Initial, Listed, FinalStateUnknown bool
	// Object is compressed. Each method that reads its content decompresses it.
	Object event.Object

	// LastNoise is when this state last replaced one that differed from it only in noise. Zero means never.
	LastNoise time.Time
	changeCounts
	Summary
	// Managers are the field managers of the object. It is empty with Options.WithoutContent.
	Managers []string
	// Repeat counts equal changes of the object. It is set with Options.Compare, and with EvictionCompare for objects
	// with many states.
	Repeat Repeat

	tableRow
	content *packed
	queued  *list.Element // element of archive.queue
	number  int           // number of earlier states of the object, including evicted ones
}

// changeCounts counts the changes up to a state.
type changeCounts struct {
	// ChangeCount is the number of significant changes, and LastChanged the time of the latest one. StatusChangeCount is how
	// often Status or EventType changed, including the first value.
	ChangeCount, StatusChangeCount int
	LastChanged                    time.Time
}

// Size returns the approximate memory use in bytes.
func (s *State) Size() int { return s.content.Size() + len(s.cells) + len(s.labels) + overhead }

// asOf returns the state at a later time, if nothing happens to the object. It returns s if time changes nothing.
func (s *State) asOf(now time.Time) *State {
	summary, changed := s.Summary.asOf(now)
	if !changed {
		return s
	}
	after := *s
	after.Summary = summary
	return &after
}

// looksLike reports whether the summaries of two states are equal. They can differ although only noise changed:
// status.observedGeneration is noise and affects Status.
func (s *State) looksLike(before *State) bool {
	return s.Summary.looksLike(&before.Summary) && sameNames(s.Managers, before.Managers) && s.sameCells(&before.tableRow)
}

// sameNames reports whether a and b contain the same names in any order.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// countChange sets the counters of the state from the previous state and the change.
func (s *State) countChange(c *Change) {
	turns := s.Type != event.Deleted
	if b := c.Before; b != nil {
		s.changeCounts = b.changeCounts
		turns = turns && (s.Status != b.Status || s.EventType != b.EventType)
	}
	if turns {
		s.StatusChangeCount++
	}
	if c.IsSignificant() {
		s.ChangeCount++
		s.LastChanged = s.Time
	}
}

// inheritFrom completes the state of a deletion from the last known state: the cells of the table, and everything else
// if the final state is unknown.
func (s *State) inheritFrom(known *State) {
	if s.cells == "" {
		s.tableRow = known.tableRow
	}
	if s.FinalStateUnknown {
		s.Object, s.content, s.Summary = known.Object, known.content, known.Summary
	}
}

// EvictedSince returns the number of evicted states between an earlier state of the same object and this one.
func (s *State) EvictedSince(earlier *State) int { return s.number - earlier.number - 1 }

// ToEvent returns the event that showed the state. before is the previous state, or nil.
func (s *State) ToEvent(before *State) event.Event {
	e := event.Event{
		Type: s.Type, Target: s.Target, Object: s.Object, Time: s.Time,
		Initial: s.Initial, Listed: s.Listed, FinalStateUnknown: s.FinalStateUnknown,
	}
	if before != nil && s.Type == event.Modified {
		e.Old = before.Object
	}
	return e
}

// DiffStates returns the difference of two states with the masks of o. It includes the writers even if
// Options.OmitManagedFields is set.
func DiffStates(before, after *State, o change.Options) change.Result {
	return change.Diff(before.content.unpack(), after.content.unpack(), o)
}
