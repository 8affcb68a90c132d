package watcher

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Told is what the reader was told of one object in an earlier run: which
// object, and up to which state.
type Told struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Unsure: that run was ended while it told that the object had been added, and
	// the reader may have got that or not. Of several with one name, each comes
	// after those that it took the place of; their deletion is as unsure.
	Unsure bool
}

// Past knows what earlier runs told their reader about a target. It hands each
// object that was told and not deleted since to take. complete means that they
// told all that existed at their start: what is new is then new since.
type Past func(t Target, take func(Told)) (complete bool, err error)

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
