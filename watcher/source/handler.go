package source

import "k8s.io/client-go/tools/cache"

// The session is the handler of its informer. Of what the informer passes on only
// what came after the sync is new: the objects of a sync are observed off the wire.
var _ cache.ResourceEventHandler = (*session)(nil)

// OnAdd implements cache.ResourceEventHandler.
func (s *session) OnAdd(obj any, _ bool) { s.observe(obj, Observation{}) }

// OnUpdate implements cache.ResourceEventHandler.
func (s *session) OnUpdate(old, obj any) {
	var o Observation
	if s.source.options.Keep == KeepContent {
		o.Old = open(old)
	}
	s.observe(obj, o)
}

// OnDelete implements cache.ResourceEventHandler.
func (s *session) OnDelete(obj any) { s.observe(obj, Observation{Deleted: true}) }

// observe observes what came with an attachment, and takes that off it.
func (s *session) observe(obj any, o Observation) {
	live, ok := obj.(*stored)
	if !ok || live.attached == nil {
		return
	}
	o.Kind, o.Object, o.Held = Changed, open(live).WithRow(live.attached.row), live.attached.held
	s.source.observer.Observe(o)
	live.content, live.attached = "", nil
	s.inFlight.Release(1)
}
