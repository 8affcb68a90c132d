package event

// Evidence describes how dwatch reconstructed an event that it did not observe.
type Evidence struct {
	From EvidenceSource
	// Writers is set with FromManagedFields and FromCreation. With FromManagedFields, it contains the
	// field manager that made the change. With FromCreation, it contains those that wrote the object
	// in the second of its creation, so any of them may have created it.
	Writers []Writer
	// Conclusive is set with FromCreation if one of Writers must have created the object. This is the
	// case if no other manager has written it, except for subresources.
	Conclusive bool
	// Base is set with FromManagedFields. It is Object without the values that the manager owns, so
	// the difference between the two is what the manager wrote.
	Base Object
	// Revision is set with FromRevision. It is the number of the revision whose rollout began.
	Revision int64
}

// EvidenceSource names the data that an event was reconstructed from. Its value appears in output.
type EvidenceSource string

const (
	FromCreation      EvidenceSource = "creationTimestamp" // Added: the object was created
	FromManagedFields EvidenceSource = "managedFields"     // Modified: a manager's last write; Object has the fields that it still owns
	FromRevision      EvidenceSource = "revision"          // Modified: a rollout began, as a ReplicaSet or ControllerRevision shows
	FromDeletion      EvidenceSource = "deletionTimestamp" // Modified: deletion was requested
	FromEvent         EvidenceSource = "event"             // Added: a Kubernetes Event, at its own time
)

// Writer is a field manager and how it wrote, as in metadata.managedFields.
type Writer struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation,omitempty"`
	Subresource string `json:"subresource,omitempty"`
}

// HasFullObject reports whether Object is complete. Reconstructed events have partial objects,
// except for Kubernetes Events.
func (e *Event) HasFullObject() bool {
	return e.Reconstructed == nil || e.Reconstructed.From == FromEvent
}
