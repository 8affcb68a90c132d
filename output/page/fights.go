package page

import (
	"slices"
	"strings"
	"sync"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/churn"
)

// fights detects field managers that keep undoing each other's intentional changes.
type fights struct {
	mu    sync.Mutex
	tally *churn.Tally
	found map[*churn.Object]*inventory.Entry // objects with a fight
}
type fightItem struct {
	called
	Since int64  `json:"since"`
	Text  string `json:"text"`
}

func newFights() *fights {
	return &fights{tally: churn.New(), found: map[*churn.Object]*inventory.Entry{}}
}

// observe counts an intentional change. It ignores Kubernetes Events.
func (f *fights) observe(c *inventory.Change) {
	if !c.IntentionalOrWarning || c.Diff == nil || c.State.EventType != "" || c.Event.Type != event.Modified {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.tally.Observe(c.Event, c.Diff)) == 0 {
		return
	}
	if o := f.tally.Get(c.Event); o != nil {
		f.found[o] = c.State.Entry
	}
}

// now returns the fights that continue at a time. It forgets ended fights and deleted objects. Fights between the same
// managers over several fields of an object are one item.
func (f *fights) now(at time.Time, among *inventory.Inventory) (items []fightItem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for counted, o := range f.found {
		all := counted.Findings(at)
		if len(all) == 0 || len(among.ExistingByID([]string{o.ID})) == 0 {
			delete(f.found, counted)
			continue
		}
		for _, one := range churn.MergeFights(all) {
			items = append(items, fightItem{calledBy(o), millis(one.Since.Time), clip(one.String(), maxMessage)})
		}
	}
	slices.SortFunc(items, func(a, b fightItem) int {
		if a.Key != b.Key {
			return strings.Compare(a.Key, b.Key)
		}
		return strings.Compare(a.Text, b.Text)
	})
	return items[:min(len(items), maxProblems)]
}
