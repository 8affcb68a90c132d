package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
)

// List returns all existing objects, or an error. They are in the order of the targets, then in
// that of the server. A named object that does not exist is a NotFound error, unless
// IgnoreMissing is set. KeepContent, Follow, PollInterval, HeartbeatInterval and History have no
// effect.
//
// If the content of some objects is not valid JSON, List returns the others with an *UnreadableError.
func (w *Watcher) List(ctx context.Context) ([]event.Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := w.newRunState()
	s.options.Follow = false
	s.source.Snapshot = true
	objects := make([][]event.Object, len(s.options.Targets))
	errs := make([]error, len(s.options.Targets))
	var running sync.WaitGroup
	for i, t := range s.options.Targets {
		running.Go(func() {
			objects[i], errs[i] = s.list(ctx, t)
			// NotFound and Forbidden errors are collected from all targets. Any other error ends all.
			if err := errs[i]; err != nil && !isUnreadable(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
				cancel()
			}
		})
	}
	running.Wait()
	return slices.Concat(objects...), joinCauses(errs)
}

// list returns the objects of one target. A refusal of the first request ends it.
func (s *runState) list(ctx context.Context, t event.Target) (objects []event.Object, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shared := *s
	shared.send = func(m message) {
		s.source.Budget.Release(m.ReservedBytes)
		if m.kind == msgRefused {
			cancel(m.Err)
		}
	}
	r := shared.newRunner(newTarget(t, false))
	listed := false
	startErr := r.runSessions(ctx, func(ctx context.Context) error {
		objects, err = r.source.List(ctx)
		if listed = err == nil; listed {
			cancel(nil)
		}
		return err
	})
	switch {
	case listed && len(r.source.Unreadable()) > 0:
		return objects, &UnreadableError{t, r.source.Unreadable()}
	case listed && (len(objects) > 0 || t.Name == "" || s.options.IgnoreMissing):
		return objects, nil
	case startErr != nil:
		return nil, startErr
	case listed && r.source.MissingError() != nil:
		return nil, r.source.MissingError()
	case listed:
		return nil, apierrors.NewNotFound(t.Resource().GroupResource(), t.Name)
	case ctx.Err() == nil: // the server stopped serving the resource during the list
		return nil, r.wrapError(apierrors.NewNotFound(t.Resource().GroupResource(), t.Name))
	default:
		return nil, context.Cause(ctx)
	}
}

// UnreadableError names the objects of a target whose content is not valid JSON.
type UnreadableError struct {
	Target event.Target
	Names  []string // NAMESPACE/NAME
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%d objects of %s are missing, as they are not valid JSON: %s", len(e.Names), e.Target.Resource().GroupResource(), strings.Join(e.Names[:min(len(e.Names), 10)], ", "))
}

func isUnreadable(err error) bool {
	_, is := errors.AsType[*UnreadableError](err)
	return is
}

// IsOnlyUnreadable reports whether all errors that err joins are UnreadableErrors, so that List has returned all other objects.
func IsOnlyUnreadable(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(one error) bool { return !isUnreadable(one) })
	}
	return isUnreadable(err)
}

// joinCauses joins errs. It leaves out cancellations if there is another error, which caused them.
func joinCauses(errs []error) error {
	causes := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, context.Canceled) })
	if joined := errors.Join(causes...); joined != nil {
		return joined
	}
	return errors.Join(errs...)
}
