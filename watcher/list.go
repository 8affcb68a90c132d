package watcher

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// List returns the objects that are there: it starts each target's informer,
// waits until it has synced, and asks the generic lister. The objects come in
// the order of the targets, then by namespace and name. A named object that is
// not there is a NotFound error. List returns either all or an error.
// Options.KeepContent is taken as set.
func (w *Watcher) List(ctx context.Context) ([]Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := w.newRun(nil)
	options := w.options
	options.KeepContent = true
	options.Follow = false
	r.options = &options
	r.emit = func(e emission) { r.gate.leave(e.held) }
	found := make([][]Object, len(w.options.Targets))
	errs := make([]error, len(w.options.Targets))
	var running sync.WaitGroup
	for i, t := range w.options.Targets {
		running.Go(func() {
			found[i], errs[i] = r.list(ctx, t)
			// What one target may not see, or has not, is worth saying of all.
			if err := errs[i]; err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
				cancel()
			}
		})
	}
	running.Wait()
	return slices.Concat(found...), joinCauses(errs)
}

// list returns the objects of one target.
func (r *run) list(ctx context.Context, t Target) ([]Object, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var objects []Object
	var err error
	rt := newTarget(t, r)
	rt.synced = func(s *session) {
		objects, err = s.list()
		cancel(errEnded)
	}
	rt.refused = cancel
	if failed := rt.live(ctx); failed != nil {
		return nil, failed
	}
	switch cause := context.Cause(ctx); {
	case cause == nil: // the resource went away meanwhile
		return nil, rt.wrap(apierrors.NewNotFound(t.Resource().GroupResource(), t.Name))
	case !errors.Is(cause, errEnded):
		return nil, cause
	}
	return objects, err
}

// list reads the session's store through the generic lister.
func (s *session) list() ([]Object, error) {
	t := s.target
	var items []runtime.Object
	var err error
	// The server has selected by the labels, of which the store knows nothing.
	if lister := s.informer.Lister(); t.Namespace == metav1.NamespaceAll {
		items, err = lister.List(labels.Everything())
	} else {
		items, err = lister.ByNamespace(t.Namespace).List(labels.Everything())
	}
	if err != nil {
		return nil, t.wrap(err)
	}
	if len(items) == 0 && t.Name != "" {
		return nil, apierrors.NewNotFound(t.Resource().GroupResource(), t.Name)
	}
	objects := make([]Object, len(items))
	for i, item := range items {
		objects[i] = stored(item)
	}
	slices.SortFunc(objects, byName)
	return objects, nil
}

func byName(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// joinCauses joins errs without those that only say that another one ended all.
func joinCauses(errs []error) error {
	causes := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, context.Canceled) })
	if joined := errors.Join(causes...); joined != nil {
		return joined
	}
	return errors.Join(errs...)
}
