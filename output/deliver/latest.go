package deliver

import (
	"dwatch/watcher/event"
)

// With Options.Latest only the last state of each object has to arrive. So what comes
// takes the place of the last that waits of its object, unless that is being sent right
// now:
//
//	waits       comes       waits then
//	ADDED       MODIFIED    ADDED, in the new state: the first state was not taken
//	DELETED     another     both: the receiver may have to know that it was gone
//	any         any other   what comes
//
// So a deletion always arrives, also of what perhaps never did. Only objects with the same
// UID are the same: when one was deleted and another one made under its name, both
// arrive. What takes the place of a state is not compared with it: the receiver has not
// seen it.

// merged returns what takes the place of what waits when e comes; false: nothing does.
func (waits *seen) merged(e *event.Event) (event.Event, bool) {
	m := *e
	switch {
	case waits.uid != uidOf(e.Target.Resource().GroupResource(), e.Object.Identity) || waits.kind == event.Deleted && e.Type != event.Deleted:
		return m, false
	case waits.kind == event.Added && e.Type == event.Modified:
		m.Type, m.Initial = event.Added, waits.initial
	}
	m.Old = event.Object{}
	return m, true
}

// lastWaiting returns the last that waits of an object, if it may be replaced.
func (q *Queue) lastWaiting(k key) (item, bool) {
	o := q.objects[k]
	if o == nil || len(o.items) == 1 && o.state == busy {
		return item{}, false
	}
	return o.items[len(o.items)-1], true
}

// replaceLast puts an item in the place of the last of its object.
func (q *Queue) replaceLast(k key, it item) {
	o := q.objects[k]
	last := &o.items[len(o.items)-1]
	q.used += it.size
	q.leave(*last)
	*last = it
	q.done.merged++
}

// mergedMessage returns what takes the place of what waits when an event comes; nil if the
// event waits beside it.
func (q *Queue) mergedMessage(waits item, e *event.Event) (*Message, error) {
	merged, isMerged := waits.seen.merged(e)
	if !isMerged {
		return nil, nil
	}
	return q.message(&merged)
}

// deliverMerged has an event take the place of what waits in memory. It reports whether
// there was something.
func (q *Queue) deliverMerged(e *event.Event) (bool, error) {
	k := keyOf(e.Target.Resource().GroupResource(), e.Object.Identity)
	q.mu.Lock()
	waits, found := q.lastWaiting(k)
	q.mu.Unlock()
	if !found {
		return false, nil
	}
	m, err := q.mergedMessage(waits, e)
	if m == nil {
		return false, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if now, found := q.lastWaiting(k); !found || now.message != waits.message {
		return false, nil // it is being sent
	}
	q.replaceLast(k, q.itemOf(m))
	return true, nil
}

// collectMerged is collect for an event that takes the place of another one: of the same
// batch, or of what waits in the Store. That is not sent until letGo.
func (q *Queue) collectMerged(b *bundle, e *event.Event) (bool, error) {
	k := keyOf(e.Target.Resource().GroupResource(), e.Object.Identity)
	place, inBundle := b.last[k]
	var waits item
	if inBundle {
		waits = b.items[place]
	} else {
		var found bool
		if waits, found = q.hold(k); !found {
			return false, nil
		}
	}
	m, err := q.mergedMessage(waits, e)
	if m == nil {
		return false, err
	}
	if inBundle {
		b.merged++
	} else {
		place = b.place(k)
		b.replaced[place] = waits.number
	}
	q.setIn(b, place, m)
	return true, nil
}

// hold is lastWaiting; what waits of the object is not sent until letGo.
func (q *Queue) hold(k key) (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.wanted[k] {
		return item{}, false // it is as good as being sent
	}
	waits, found := q.lastWaiting(k)
	if found {
		q.held[k] = true
	}
	return waits, found
}

// awaitRelease waits until an object is not held. An object of which something comes all
// the time would be held all the time, if it were not wanted.
func (q *Queue) awaitRelease(k key) {
	for q.held[k] {
		q.wanted[k] = true
		q.released.Wait()
	}
	delete(q.wanted, k)
}

// letGo ends hold.
func (q *Queue) letGo() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.held)
	q.released.Broadcast()
}
