package watcher

import (
	"context"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// runner runs one target in its own goroutine: one session of its source after another, until the
// context ends or the server no longer serves the resource.
type runner struct {
	*runState
	target  *target      // belongs to the loop; the runner only passes it on and reads idle
	current event.Target // in the version and scope that the server serves
	key     event.Key
	source  *source.Source
	joined  bool // the target is not one of Options.Targets
	// unrequested is true if the target ends because it is no longer requested.
	unrequested atomic.Bool
	// cancel ends the runner, which then closes done.
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *runState) newRunner(t *target) *runner {
	r := &runner{runState: s, target: t, current: t.Target, key: t.Key()}
	r.source = source.New(t.Target, s.source, r)
	return r
}

// Observe implements source.Observer.
func (r *runner) Observe(o source.Observation) { r.send(message{target: r.target, Observation: o}) }

func (r *runner) wrapError(err error) error { return &event.TargetError{Target: r.current, Err: err} }

// runSessions calls session repeatedly until ctx ends or the server no longer serves the resource.
// It returns an error only if the target could not start.
func (r *runner) runSessions(ctx context.Context, session func(context.Context) error) error {
	var backoff source.Backoff
	for {
		err := session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		notFound, switched := apierrors.IsNotFound(err), false
		if notFound && r.options.Resolver != nil {
			found, served := r.resolveAgain(ctx, err)
			switch {
			case ctx.Err() != nil:
				return nil
			case !served:
				r.reportGone(ctx, err)
				return nil
			}
			switched = r.switchVersion(found)
		}
		switch {
		case switched: // the next session requests the other version
		case !r.source.HasServerResponded() && isInvalidRequest(err):
			return r.wrapError(err)
		case !r.source.HasServerResponded():
			r.reportRefused(err)
		case notFound:
			r.source.ReportLoss(err)
		}
		if r.source.HasSynced() {
			backoff.Reset()
		}
		if !backoff.Wait(ctx, err) {
			return nil
		}
	}
}

// goneConfirmation is how long discovery must have lacked a resource that the server served before. If a CRD is replaced
// within a short time, the API server can remove and restore its API group while objects already exist.
const goneConfirmation = time.Second

// resolveAgain finds out why the server returned 404. It may no longer serve the resource, serve it
// in another version, or be wrong for a moment.
func (r *runner) resolveAgain(ctx context.Context, notFound error) (current event.Target, served bool) {
	var backoff source.Backoff
	var missingSince time.Time
	for {
		found, err := r.options.Resolver.Resolve(ctx)
		if err == nil {
			current, served = found.Find(r.key)
			switch {
			case served:
				return current, true
			case !found.IsMissing(r.key):
				return r.current, true
			case missingSince.IsZero():
				missingSince = time.Now()
			}
			if !r.source.HasServerResponded() || time.Since(missingSince) >= goneConfirmation {
				return r.current, false
			}
			if !backoff.Wait(ctx, nil) {
				return event.Target{}, false
			}
			continue
		}
		missingSince = time.Time{}
		if r.source.HasServerResponded() {
			r.source.ReportLoss(notFound)
		}
		if !backoff.Wait(ctx, err) {
			return event.Target{}, false
		}
	}
}

// reportGone sends that the server does not serve the resource, as err says. At the start, that also
// is a refusal, unless the run follows what the server serves.
func (r *runner) reportGone(ctx context.Context, err error) {
	if !r.source.HasServerResponded() && !r.options.Follow {
		r.reportRefused(err)
	}
	if ctx.Err() == nil {
		r.send(message{target: r.target, kind: msgGone})
	}
}

func (r *runner) reportRefused(err error) {
	r.source.AssumeServerResponded()
	r.send(message{target: r.target, kind: msgRefused, Observation: source.Observation{Event: event.Event{Err: r.wrapError(err)}}})
}

// switchVersion continues with found and returns true if found is another version or scope of the
// resource.
func (r *runner) switchVersion(found event.Target) bool {
	if found.Resource() == r.current.Resource() && found.Namespaced() == r.current.Namespaced() {
		return false
	}
	r.current = found
	r.source.SetTarget(found)
	r.send(message{target: r.target, kind: msgSwitched, Observation: source.Observation{Event: event.Event{Target: found}}})
	return true
}

// isInvalidRequest reports whether the server would reject the request again however often it is
// repeated, for example because of a malformed selector.
func isInvalidRequest(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }
