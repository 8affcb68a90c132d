package inventory

import (
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/history"
)

// ReconstructedChange is a change of an object from before the watch began, derived from its metadata or its revisions.
type ReconstructedChange struct {
	Time time.Time
	event.Evidence
	// Diff depends on Evidence.From. From a revision, it is the change of the Pod template. From managedFields, it lists
	// the fields that the writer has owned since.
	Diff change.Result
}

// Reconstruct returns the changes that an initial object and its revisions show for the time before the watch began, in
// order of time. o configures the comparison and the masks.
func (past History) Reconstruct(revisions []event.Object, o change.Options) (all []ReconstructedChange) {
	if !past.Entry.Initial {
		return nil
	}
	first := past.States[0]
	h := history.History{TimeRange: history.TimeRange{Before: past.Entry.FirstSeen}}
	h.Add(first.Target, event.NewObject(first.Object.Identity, first.content.unpack()))
	for _, r := range revisions {
		h.AddRevision(r)
	}
	for _, e := range h.Events() {
		b := ReconstructedChange{Time: e.Time, Evidence: *e.Reconstructed}
		switch b.From {
		case event.FromManagedFields:
			b.Diff = change.Diff(b.Base.Raw(), e.Object.Raw(), o)
		case event.FromRevision:
			b.Diff = change.Diff(e.Old.Raw(), e.Object.Raw(), o)
		}
		b.Base = event.Object{} // not masked
		all = append(all, b)
	}
	return all
}
