package watcher

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// pass hands one event to the informer, and in a sync to the reader.
func (s *stream) pass(ctx context.Context, e watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok || u.GetName() == "" && e.Type != watch.Bookmark {
		return fmt.Errorf("the server sent something else than an object (%T) in a watch", e.Object)
	}
	s.noteAnswer()
	switch {
	case e.Type == watch.Bookmark:
		return s.passBookmark(ctx, e, u)
	case s.syncing:
		if err := s.wire.preview(s.wire.unload(u), e.Type); err != nil {
			return err
		}
		return s.send(ctx, e)
	default:
		return s.passLive(ctx, e, u)
	}
}

func (s *stream) passBookmark(ctx context.Context, e watch.Event, u *unstructured.Unstructured) error {
	if u.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		s.syncing = false
		s.wire.target.endSync(u.GetResourceVersion())
	}
	if err := s.send(ctx, e); err != nil {
		return err
	}
	if !s.syncing {
		s.advance(u.GetResourceVersion())
	}
	return nil
}

// passLive hands over an event that comes after the sync. The handler, to which
// the informer will hand it, finds the cargo there.
func (s *stream) passLive(ctx context.Context, e watch.Event, u *unstructured.Unstructured) error {
	t := s.wire.target
	o := s.wire.unload(u)
	held, err := t.gate.enter(ctx, o.Len())
	if err != nil {
		return err
	}
	deleted := e.Type == watch.Deleted
	t.load(o, deleted, held)
	if err := s.send(ctx, e); err != nil {
		t.gate.leave(t.takeCargo(o, deleted).held)
		return err
	}
	s.advance(o.ResourceVersion)
	return nil
}

// advance notes how far the informer has been taken. From nothing the watch would
// go on with what is there, and miss what was deleted.
func (s *stream) advance(resourceVersion string) {
	if resourceVersion == "" {
		return
	}
	s.from = resourceVersion
	s.wire.target.reached(resourceVersion)
}
