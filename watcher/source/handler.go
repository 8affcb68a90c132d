package source

import "k8s.io/client-go/tools/cache"

// The session is the handler of its informer.
var _ cache.ResourceEventHandler = (*session)(nil)

// OnAdd implements cache.ResourceEventHandler.
func (s *session) OnAdd(obj any, initial bool) { s.hand(obj, Observation{InSync: initial}) }

// OnUpdate implements cache.ResourceEventHandler.
func (s *session) OnUpdate(old, obj any) {
	var o Observation
	if s.source.options.Keep != KeepIdentity {
		o.Old, _ = open(old)
	}
	s.hand(obj, o)
}

// OnDelete implements cache.ResourceEventHandler.
func (s *session) OnDelete(obj any) {
	tombstone, unknown := obj.(cache.DeletedFinalStateUnknown)
	if unknown {
		obj = tombstone.Obj
	}
	s.hand(obj, Observation{Deleted: true, Unknown: unknown})
}

// hand observes what the informer hands out. The first thing that is not part of
// the sync ends it: the informer has handed out all of that before.
func (s *session) hand(obj any, o Observation) {
	var t *ticket
	if o.Object, t = open(obj); o.Object.IsZero() {
		return
	}
	if !o.InSync {
		s.settle()
	}
	o.Kind = Handed
	if t != nil {
		o.Held = t.held
	}
	s.source.observer.Observe(o)
	strip(obj)
	if t != nil {
		s.transit.leave()
	}
}
