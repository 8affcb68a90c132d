package watcher

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// cargo is what goes beside the informer from the wire to the handler: the
// content that the informer is not to keep, and what the event holds of the
// gate.
type cargo struct {
	content string
	held    int64
}

// cargoKey tells one event of a target from all others: a deletion may have the
// resourceVersion of the state before, and an aggregated API may know no UIDs.
type cargoKey struct {
	name            cache.ObjectName
	uid             types.UID
	resourceVersion string
	deleted         bool
}

func cargoOf(o Object, deleted bool) cargoKey {
	return cargoKey{keyOf(o), o.UID, o.ResourceVersion, deleted}
}

// load sends cargo ahead of an event of o.
func (t *target) load(o Object, deleted bool, held int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := cargoOf(o, deleted)
	t.gate.leave(t.cargo[key].held) // of the same event before, if a server repeats one
	t.cargo[key] = cargo{contentOf(o), held}
}

// takeCargo returns what was loaded for an event of o; nothing if it is part of
// a sync.
func (t *target) takeCargo(o Object, deleted bool) cargo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.takeCargoLocked(o, deleted)
}

func (t *target) takeCargoLocked(o Object, deleted bool) cargo {
	key := cargoOf(o, deleted)
	c := t.cargo[key]
	delete(t.cargo, key)
	if len(t.cargo) == 0 {
		t.arrived.Broadcast()
	}
	return c
}

// drain waits until all that the informer took off the wire after the sync has
// been observed: on its stop it would drop what its handler has not been given.
func (t *target) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drainLocked()
}

func (t *target) drainLocked() {
	for len(t.cargo) > 0 {
		t.arrived.Wait()
	}
}
