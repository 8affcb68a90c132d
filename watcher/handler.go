package watcher

import (
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// The target is the handler of its informer. Everything goes through the ledger.
var _ cache.ResourceEventHandler = (*target)(nil)

func (t *target) OnAdd(obj any, initial bool) {
	t.deliver(observation{object: stored(obj)}, initial)
}

func (t *target) OnUpdate(old, obj any) {
	o := observation{object: stored(obj)}
	if t.options.KeepContent {
		o.old = stored(old)
	}
	t.deliver(o, false)
}

func (t *target) OnDelete(obj any) {
	tombstone, unknown := obj.(cache.DeletedFinalStateUnknown)
	if unknown {
		obj = tombstone.Obj
	}
	t.deliver(observation{object: stored(obj), deleted: true, unknown: unknown}, false)
}

// deliver observes what the informer hands out. The first thing that is not
// part of the sync ends it: the informer has handed out all of that before.
func (t *target) deliver(o observation, initial bool) {
	if o.object.IsZero() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !initial {
		t.settleLocked()
	}
	c := t.takeCargoLocked(o.object, o.deleted)
	if c.content != "" {
		o.object = event.NewObject(o.object.Identity, c.content)
	}
	t.observeLocked(o, c.held)
}

// observeLocked tells what follows from o. held leaves the gate with the last
// event, or at once.
func (t *target) observeLocked(o observation, held int64) {
	events := t.ledger.observe(o)
	if len(events) == 0 {
		t.gate.leave(held)
	}
	for i, e := range events {
		e.Target = t.Target
		if i == len(events)-1 {
			t.emit(emission{e, held})
		} else {
			t.emit(emission{e, 0})
		}
	}
}

func (t *target) tell(events []Event) {
	for _, e := range events {
		e.Target = t.Target
		t.emit(emission{e, 0})
	}
}
