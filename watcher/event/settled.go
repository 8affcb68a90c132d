package event

import "time"

// Settled describes an event that combines the changes to an object. dwatch buffered them until all
// objects of the group had stopped changing, or until it had to flush the group. The event compares
// the states before the first and after the last change.
type Settled struct {
	// Since is when dwatch received the first change.
	Since time.Time
	// Changes is the number of changes.
	Changes int
	// ShortLived is true if the object was created and deleted while its changes were buffered.
	ShortLived bool
	// Group is the group of objects that settled together.
	Group *SettledGroup
}

// SettledGroup contains the changed objects that have the same root: a root object and the objects
// that it owns, directly or not. Their changes are reported together. It is immutable.
type SettledGroup struct {
	// Events contains one event per changed object. The first one represents the group.
	Events []Event
	// HasRoot is true if the first event is about the root of all objects in Events. Otherwise the
	// root did not change or is not watched, or the objects have different roots and two of them had
	// the same name.
	HasRoot bool
	// Changes is the number of changes in the group, including noise. Since and Until are when dwatch
	// received the first and the last significant change or, if there is none, the first change.
	Changes      int
	Since, Until time.Time
	// Status is the kstatus status of the first event's object, or of the one that has replaced it
	// under its name. Message explains it. It is empty if Status is Current, and may be empty if it is
	// Unknown. Both are empty if the object was deleted or is a Kubernetes Event.
	Status, Message string
	// Unhealthy lists other objects with the same root, changed or not, that have failed or report
	// why they are not Current, up to a limit.
	Unhealthy []UnhealthyObject
	// UnhealthyCount is the number of all other objects with the same root whose status is neither
	// Current nor Unknown.
	UnhealthyCount int
	// FlushReason is why the group was reported before it settled. It is empty if the group settled.
	FlushReason FlushReason
}

// UnhealthyObject is an object whose kstatus status is neither Current nor Unknown.
type UnhealthyObject struct {
	Target          Target
	Namespace       string
	Name            string
	Status, Message string
	// IsFinished is true for a Pod in phase Failed. It never runs again, and another Pod may have
	// taken its place.
	IsFinished bool
}

// FlushReason is why a group was reported before it settled. Its value appears in output.
type FlushReason string

const (
	FlushMaxSettle    FlushReason = "max-settle" // the group kept changing or was in progress until the time limit
	FlushShutdown     FlushReason = "end"        // the run ended
	FlushBufferFull   FlushReason = "room"       // the buffer reached its limit
	FlushUnwatched    FlushReason = "left"       // the target of an object of the group left or is gone
	FlushDisconnected FlushReason = "lost"       // the time limit passed while a watch of the group was not live
	FlushOrdering     FlushReason = "short"      // the group had to precede an event that dwatch does not buffer
)

// IsFirst reports whether e, whose Settled is s, is the first event of its group.
func (s *Settled) IsFirst(e *Event) bool {
	first := &s.Group.Events[0]
	return first.Object.Identity == e.Object.Identity && first.Type == e.Type
}
