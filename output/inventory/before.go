package inventory

import (
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/history"
)

// Before is what happened to an object before it was seen, as far as what is there shows it.
type Before struct {
	Time time.Time
	event.Evidence
	// Diff is how the template of pods changed, From a revision; From managedFields what the writer holds since.
	Diff change.Result
}

// Before returns what an object that existed at the start, and its revisions, show of the time before that, in the
// order of time. What o masks is masked.
func (past History) Before(revisions []event.Object, o change.Options) (all []Before) {
	if !past.Object.Initial {
		return nil
	}
	first := past.States[0]
	h := history.History{Span: history.Span{Before: past.Object.First}}
	h.Add(first.Target, event.NewObject(first.Object.Identity, first.content.unpack()))
	for _, r := range revisions {
		h.AddRevision(r)
	}
	for _, e := range h.Events() {
		b := Before{Time: e.Time, Evidence: *e.Reconstructed}
		switch b.From {
		case event.FromManagedFields:
			b.Diff = change.Between(b.Base.Raw(), e.Object.Raw(), o)
		case event.FromRevision:
			b.Diff = change.Between(e.Old.Raw(), e.Object.Raw(), o)
		}
		b.Base = event.Object{} // it is not masked
		all = append(all, b)
	}
	return all
}
