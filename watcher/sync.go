package watcher

import "k8s.io/apimachinery/pkg/watch"

// previews reports whether the objects of the present sync are told as they come
// off the wire. After the first sync the informer can tell more: the state
// before, but only where content is kept.
func (t *target) previews() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.previewsLocked()
}

func (t *target) previewsLocked() bool { return t.first || !t.options.KeepContent }

// preview observes an object of a sync right off the wire.
func (t *target) preview(o Object, kind watch.EventType, held int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellOwedLocked()
	t.observeLocked(observation{
		object:  o,
		deleted: kind == watch.Deleted,
		initial: kind == watch.Added && t.first && !t.joined && !t.carriedOn,
		listed:  true,
	}, held)
}

// beginSync: the server starts to name all that is there. What the informer was
// given before is told first, lest it come after what the sync tells. Where the
// objects of the sync are not shown, a session that has settled already has an
// informer that finds out by itself what is missing.
func (t *target) beginSync() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.previewsLocked() || !t.settled {
		t.drainLocked()
		t.ledger.begin()
	}
}

// endSync: the server has named all that was there at this resourceVersion.
func (t *target) endSync(resourceVersion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellOwedLocked()
	if t.previewsLocked() {
		t.tell(t.ledger.sweep())
	}
	from := t.at
	t.first, t.at = false, resourceVersion
	if from != "" {
		t.markLocked(Event{Type: Gap, From: from, ResourceVersion: resourceVersion})
	}
}

// reached notes how far the informer has been taken.
func (t *target) reached(resourceVersion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = resourceVersion
}

// settle ends the sync of a session.
func (t *target) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settleLocked()
}

func (t *target) settleLocked() {
	if t.settled {
		return
	}
	t.settled = true
	t.tell(t.ledger.sweep())
	t.markLocked(Event{Type: Synced, Count: len(t.ledger.told), ResourceVersion: t.at})
}
