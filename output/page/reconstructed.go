package page

import (
	"context"
	"strings"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// maxReconstructed limits how many changes from before dwatch started are sent. The newest are sent.
const maxReconstructed = 50

// reconstructedItem is a change from before dwatch started, in an API answer. docs/reference/page-api.md describes its members.
type reconstructedItem struct {
	Time int64 `json:"time"`
	// From is the source of the evidence: see event.EvidenceSource.
	From string `json:"from"`
	// Who is the list of field managers that wrote in that second. One or more of them made the change.
	Who      string `json:"who,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Changes are the changes of the template, or, without a revision, the fields that the writers have owned since then.
	Changes []changeItem `json:"changes,omitempty"`
	More    int          `json:"more,omitempty"`
}

// reconstructedLookup reconstructs the changes of an object from before dwatch started, newest first. It calls
// FetchRevisions for the revisions of a workload's template. If that fails, it returns the error with the other changes.
type reconstructedLookup struct{ *Hub }

func (h reconstructedLookup) lookup(ctx context.Context, this *inventory.Entry, o event.Object) ([]reconstructedItem, error) {
	var revisions []event.Object
	var err error
	if h.FetchRevisions != nil {
		revisions, err = h.FetchRevisions(ctx, this.Cluster, o)
	}
	past, held := h.inventory.History(this.ID)
	if !held {
		return nil, errNotRetained
	}
	all, items := past.Reconstruct(revisions, h.Compare), []reconstructedItem{}
	for i := len(all) - 1; i >= 0 && len(items) < maxReconstructed; i-- {
		if one := reconstructedItemOf(&all[i]); one.isSignificant(&all[i]) {
			items = append(items, one)
		}
	}
	return items, err
}

func reconstructedItemOf(b *inventory.ReconstructedChange) reconstructedItem {
	one := reconstructedItem{Time: millis(b.Time), From: string(b.From), Revision: b.Revision}
	var names []string
	for _, w := range b.Writers {
		names = append(names, w.Manager)
	}
	one.Who = clip(strings.Join(names, ", "), maxName)
	found := b.Diff.Changes
	if b.From == event.FromRevision {
		found = change.SplitStatus(found)
	}
	for i := range found[:min(len(found), maxChanges)] {
		one.Changes = append(one.Changes, changeItemOf(&found[i]))
	}
	one.More = len(found) - len(one.Changes)
	return one
}

// isSignificant reports whether the change is more than noise.
func (r *reconstructedItem) isSignificant(b *inventory.ReconstructedChange) bool {
	switch b.From {
	case event.FromRevision:
		return len(r.Changes) > 0
	case event.FromManagedFields:
		return len(r.Changes) > 0 || b.Diff.NoiseCount == 0
	}
	return true
}
