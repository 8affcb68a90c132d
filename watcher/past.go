package watcher

import (
	"fmt"

	"k8s.io/client-go/tools/cache"
)

// carryOn fills the ledger with what was told before the target's first session:
// from there the first sync is like one after a long outage.
func (t *target) carryOn(past Past) error {
	if past == nil {
		return nil
	}
	complete, err := past(t.Target, func(o Told) {
		key := cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
		if known, told := t.ledger.told[key]; told {
			t.owed = append(t.owed, t.ledger.lost(key, known, Object{}))
		}
		t.ledger.told[key] = entry{uid: o.UID, resourceVersion: o.ResourceVersion, unsure: o.Unsure}
	})
	if err != nil {
		return fmt.Errorf("read what was told about %s: %w", t.Resource().GroupResource(), err)
	}
	t.carriedOn = complete
	return nil
}

// tellOwedLocked tells the deletions that an earlier run may not have told.
func (t *target) tellOwedLocked() {
	t.tell(t.owed)
	t.owed = nil
}
