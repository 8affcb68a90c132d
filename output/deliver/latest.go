package deliver

import "dwatch/watcher/event"

// With Options.Latest what comes takes the place of the last that waits of its object, unless that
// is being sent right now:
//
//	waits       comes       waits then
//	ADDED       MODIFIED    ADDED, in the new state: the first state was not taken
//	DELETED     another     both: the receiver may have to know that it was gone
//	any         any other   what comes
//
// So a deletion always arrives, also of what perhaps never did. Only objects with the same UID are
// the same. What takes the place of a state is not compared with it: the receiver has not seen it.

// seen is what a receiver sees of a message, as far as that decides what may take its place.
type seen struct {
	uid     string
	kind    event.Type
	initial bool
}

// merged returns what takes the place of what waits when e comes; false: nothing does.
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

// hold returns the last that waits of an object, if it may be replaced. What waits of the object is
// not sent then until letGo.
func (s *schedule) hold(k key) (item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[k]
	if o == nil || len(o.items) == 1 && o.state == busy || s.wanted[k] { // it is as good as being sent
		return item{}, false
	}
	s.held[k] = true
	return o.items[len(o.items)-1], true
}

// letGo ends hold.
func (s *schedule) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.held)
	s.released.Broadcast()
}
