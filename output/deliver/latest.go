package deliver

import (
	"sync"

	"dwatch/watcher/event"
)

// With Options.LatestOnly, a new event replaces the last waiting event of the same object, unless that is being sent:
//
//	waiting     new         result
//	ADDED       MODIFIED    ADDED with the new state, because the receiver has not accepted the first state
//	DELETED     other       both, because the receiver must learn about the deletion
//	any         other       the new event
//
// A deletion is always delivered, even if the receiver never got the object. Objects are the same if they have the same UID. The
// old state of the result is unknown, because the receiver has not seen the replaced state.

// seen has the parts of a message that decide whether another event may replace it.
type seen struct {
	uid     string
	kind    event.Type
	initial bool
}

// merged returns the event that replaces the waiting one when e arrives. It returns false if e must not replace it.
func (waits *seen) merged(e *event.Event) (event.Event, bool) {
	m := *e
	switch {
	case waits == nil || waits.uid != uidOf(e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Identity) || waits.kind == event.Deleted && e.Type != event.Deleted:
		return m, false
	case waits.kind == event.Added && e.Type == event.Modified:
		m.Type, m.Initial = event.Added, waits.initial
	}
	m.Old = event.Object{}
	return m, true
}

// holds prevents the messages of some objects from being sent while messages that replace them are being stored. Its methods
// require schedule.mu to be held.
type holds struct {
	held     map[key]bool // the objects whose messages must not be sent
	wanted   map[key]bool // the objects that a worker waits for
	released *sync.Cond
}

func newHolds(mu *sync.Mutex) holds {
	return holds{held: map[key]bool{}, wanted: map[key]bool{}, released: sync.NewCond(mu)}
}

// hold holds an object, unless a worker waits for it. Otherwise, an object with a constant stream of events could be held forever.
func (h *holds) hold(k key) bool {
	if h.wanted[k] {
		return false
	}
	h.held[k] = true
	return true
}

// await waits until release is called.
func (h *holds) await(k key) {
	h.wanted[k] = true
	h.released.Wait()
	delete(h.wanted, k)
}

// release ends all holds.
func (h *holds) release() {
	clear(h.held)
	h.released.Broadcast()
}

// hold returns the last waiting item of an object, if it may be replaced. The items of the object are then not sent until releaseHolds.
func (s *schedule) hold(k key) (item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[k]
	if o == nil || len(o.items) == 1 && o.state == busy || !s.holds.hold(k) { // it is about to be sent
		return item{}, false
	}
	return o.items[len(o.items)-1], true
}

// releaseHolds ends all holds.
func (s *schedule) releaseHolds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds.release()
}
