package source

import "k8s.io/client-go/tools/cache"

// The session is the handler of its informer. Of what the informer hands out only
// what came after the sync is new: the objects of a sync are observed off the wire.
var _ cache.ResourceEventHandler = (*session)(nil)

// OnAdd implements cache.ResourceEventHandler.
func (s *session) OnAdd(obj any, _ bool) { s.hand(obj, Observation{}) }

// OnUpdate implements cache.ResourceEventHandler.
func (s *session) OnUpdate(old, obj any) {
	var o Observation
	if s.source.options.Keep == KeepContent {
		o.Old = open(old)
	}
	s.hand(obj, o)
}

// OnDelete implements cache.ResourceEventHandler.
func (s *session) OnDelete(obj any) { s.hand(obj, Observation{Deleted: true}) }

// hand observes what came with a ticket, and takes that off it.
func (s *session) hand(obj any, o Observation) {
	live, ok := obj.(*stored)
	if !ok || live.ticket == nil {
		return
	}
	o.Kind, o.Object, o.Held = Handed, open(live).WithRow(live.ticket.row), live.ticket.held
	s.source.observer.Observe(o)
	live.content, live.ticket = "", nil
	s.transit.leave()
}
