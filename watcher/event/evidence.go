package event

// Evidence is what an event rests on that nobody saw.
type Evidence struct {
	From Source
	// Writers are field managers that wrote the object in that second: with FromManagedFields the
	// one that the event is about, with FromCreation those that may have created it.
	Writers []Writer
	// Sole, with FromCreation, is that one of Writers did it: nobody else has written the object, as far as it shows.
	Sole bool
	// Around, with FromManagedFields, is Object without what the manager holds.
	Around Object
	// Revision is the number of that whose template came, with FromRevision.
	Revision int64
}

// Source is what of the cluster remembers, as it is printed.
type Source string

const (
	FromCreation      Source = "creationTimestamp" // Added: it was created
	FromManagedFields Source = "managedFields"     // Modified: Writers wrote last, and hold what Object has
	FromRevision      Source = "revision"          // Modified: a rollout began, by a ReplicaSet or a ControllerRevision
	FromDeletion      Source = "deletionTimestamp" // Modified: its deletion was asked for
	FromEvent         Source = "event"             // Added: an Event of Kubernetes, whole, at its own time
)

// Writer is a field manager, and how it wrote.
type Writer struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation,omitempty"`
	Subresource string `json:"subresource,omitempty"`
}

// Whole reports whether what the event has of its object is all of it.
func (e *Event) Whole() bool { return e.Reconstructed == nil || e.Reconstructed.From == FromEvent }
