package inventory

import (
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/history"
)

// Before is what happened to an object before it was seen, as far as what is there shows it.
type ReconstructedChange struct {
	Time time.Time
	event.Evidence
	// Diff is how the template of pods changed, From a revision; From managedFields what the writer holds since.
	Diff change.Result
}

// Before returns what an object that existed at the start, and its revisions, show of the time before that, in the
// order of time. What o masks is masked.
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
		b.Base = event.Object{} // it is not masked
		all = append(all, b)
	}
	return all
}
