package watcher

import (
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
)

// List returns either an error or all objects that are there, as the generic lister has them when
// each target's informer has synced: in the order of the targets, then by namespace and name. A
// named object that is not there is a NotFound error, unless IgnoreMissing is set. KeepContent,
// Follow, Poll, Heartbeat and Past have no effect.
func (w *Watcher) List(ctx context.Context) ([]event.Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := w.newRun()
	r.options.Follow = false
	r.source.KeepObjects = true
	found := make([][]event.Object, len(r.options.Targets))
	errs := make([]error, len(r.options.Targets))
	var running sync.WaitGroup
	for i, t := range r.options.Targets {
		running.Go(func() {
			found[i], errs[i] = r.list(ctx, t)
			// What is forbidden or missing is collected from all targets.
			if err := errs[i]; err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
				cancel()
			}
		})
	}
	running.Wait()
	return slices.Concat(found...), joinCauses(errs)
}

// list returns the objects of one target. A refusal at the start ends it.
func (r *run) list(ctx context.Context, t event.Target) (objects []event.Object, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	listing := *r
	listing.note = func(n note) {
		r.source.Budget.Release(n.ReservedBytes)
		if n.what == refused {
			cancel(n.Err)
		}
	}
	l := listing.newLife(newTarget(t, false))
	done := false
	failed := l.live(ctx, func(ctx context.Context) error {
		objects, err = l.source.List(ctx)
		if done = err == nil; done {
			cancel(nil)
		}
		return err
	})
	switch {
	case done && (len(objects) > 0 || t.Name == "" || r.options.IgnoreMissing):
		return objects, nil
	case failed != nil:
		return nil, failed
	case done:
		return nil, apierrors.NewNotFound(t.Resource().GroupResource(), t.Name)
	case ctx.Err() == nil: // the resource went away meanwhile
		return nil, l.wrap(apierrors.NewNotFound(t.Resource().GroupResource(), t.Name))
	default:
		return nil, context.Cause(ctx)
	}
}

// joinCauses joins errs without those that only say that another one ended all.
func joinCauses(errs []error) error {
	causes := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, context.Canceled) })
	if joined := errors.Join(causes...); joined != nil {
		return joined
	}
	return errors.Join(errs...)
}
