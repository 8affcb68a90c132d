package event

import "time"

// Settled is what an event stands for that waited until its object, and what belongs with it, was quiet:
// all that was seen of the object meanwhile, as one change from the state before to the last one.
type Settled struct {
	// Since is when the first of these changes was seen, and Changes is how many there were.
	Since   time.Time
	Changes int
	// Came: the object came within that time, and the event is that it went.
	Came bool
	// Of is all that became quiet together.
	Of *Settlement
}

// Settlement is an object that nothing above it owns, and what belongs to it, until they were quiet. It
// never changes.
type Settlement struct {
	// Events has one for each object that changed; the first is the one by which the others are told of.
	Events []Event
	// Top: the first is the object that the others belong to. Else that one did not change, or is not watched.
	Top bool
	// Changes is how many there were of all of them, the first at Since, and the last at Until.
	Changes      int
	Since, Until time.Time
	// Word is in which state the object is, by kstatus, that the first event is about, and Why says why it is
	// not Current. Empty: it was deleted, or is none that has a state.
	Word, Why string
	// Wrong are others that belong to it and are not as they should be, and say why: some of NotWell.
	Wrong   []Wrong
	NotWell int
	// Cut says why it is told of before it was quiet; empty: it is quiet.
	Cut Cut
}

// Wrong is an object that is not as it should be.
type Wrong struct {
	Target    Target
	Namespace string
	Name      string
	Word, Why string
}

// Cut is why nobody waited any longer.
type Cut string

const (
	CutLate  Cut = "max-settle" // for so long it never was quiet
	CutEnd   Cut = "end"        // the run ended
	CutRoom  Cut = "room"       // too much waits
	CutLeft  Cut = "left"       // it is watched no more
	CutLost  Cut = "lost"       // so long, and nothing is heard of it now
	CutShort Cut = "short"      // what comes next, which is to come after it, does not wait
)

// IsLead reports whether an event is the first of those that it became quiet with.
func (s *Settled) IsLead(e *Event) bool {
	first := &s.Of.Events[0]
	return first.Object.Identity == e.Object.Identity && first.Type == e.Type
}
