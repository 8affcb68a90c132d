package page

import (
	"context"
	"strings"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// maxBefore is how much of the time before dwatch began is sent, the newest.
const maxBefore = 50

// remembered is what happened to an object before dwatch began, as docs/page.md has it.
type remembered struct {
	Time int64 `json:"time"`
	// From is what shows it: see event.EvidenceSource.
	From string `json:"from"`
	// Who wrote, or may have: they wrote in that second.
	Who      string `json:"who,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Changes are how the template changed, or what who wrote holds since.
	Changes []oneChange `json:"changes,omitempty"`
	More    int         `json:"more,omitempty"`
}

// memory is what an object that existed at the start shows of what was before, the newest first. Of a workload the
// server is asked for the revisions of its template; an error says that these are not known.
type memory struct{ *Hub }

func (h memory) of(ctx context.Context, this *inventory.Entry, o event.Object) ([]remembered, error) {
	var revisions []event.Object
	var err error
	if h.FetchRevisions != nil {
		revisions, err = h.FetchRevisions(ctx, this.Cluster, o)
	}
	past, held := h.inventory.History(this.ID)
	if !held {
		return nil, errNotHeld
	}
	all, items := past.Reconstruct(revisions, h.Compare), []remembered{}
	for i := len(all) - 1; i >= 0 && len(items) < maxBefore; i-- {
		if one := rememberedOf(&all[i]); one.isTold(&all[i]) {
			items = append(items, one)
		}
	}
	return items, err
}

func rememberedOf(b *inventory.ReconstructedChange) remembered {
	one := remembered{Time: millis(b.Time), From: string(b.From), Revision: b.Revision}
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
		one.Changes = append(one.Changes, oneOf(&found[i]))
	}
	one.More = len(found) - len(one.Changes)
	return one
}

// isTold: it is not noise alone.
func (r *remembered) isTold(b *inventory.ReconstructedChange) bool {
	switch b.From {
	case event.FromRevision:
		return len(r.Changes) > 0
	case event.FromManagedFields:
		return len(r.Changes) > 0 || b.Diff.NoiseCount == 0
	}
	return true
}
