package watcher

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// life runs one target in a goroutine of its own: session after session of its source, until the
// context ends or the resource is gone.
type life struct {
	*run
	target *target      // of the notes; only the loop looks inside, but for idle
	now    event.Target // as the server has it
	key    event.Key
	source *source.Source
	joined bool // the server did not have it when Run began
	// unasked: it is not asked for any more.
	unasked atomic.Bool
	// cancel ends the life; ended is closed when it has.
	cancel context.CancelFunc
	ended  chan struct{}
}

func (r *run) newLife(t *target) *life {
	l := &life{run: r, target: t, now: t.Target, key: t.Key()}
	l.source = source.New(t.Target, r.source, l)
	return l
}

// Observe implements source.Observer.
func (l *life) Observe(o source.Observation) { l.note(note{of: l.target, Observation: o}) }

func (l *life) wrap(err error) error { return &event.TargetError{Target: l.now, Err: err} }

// live runs sessions until ctx ends, or until the server no longer has the resource. It returns an
// error only if the target could not start.
func (l *life) live(ctx context.Context, session func(context.Context) error) error {
	var backoff source.Backoff
	for {
		err := session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		missing, other := apierrors.IsNotFound(err), false
		if missing && l.options.Resolver != nil {
			found, there := l.reresolve(ctx, err)
			switch {
			case ctx.Err() != nil:
				return nil
			case !there:
				l.leave(ctx, err)
				return nil
			}
			other = l.switchVersion(found)
		}
		switch {
		case other: // the next session asks for another version
		case !l.source.HasServerResponded() && isUsage(err):
			return l.wrap(err)
		case !l.source.HasServerResponded():
			l.refuse(err)
		case missing:
			l.source.ReportLoss(err)
		}
		if l.source.HasSynced() {
			backoff.Reset()
		}
		if !backoff.Wait(ctx, err) {
			return nil
		}
	}
}

// reresolve asks whether the server has the resource, after a 404: it may have it no more, or in
// another version, or be wrong for a moment.
func (l *life) reresolve(ctx context.Context, missing error) (now event.Target, there bool) {
	var backoff source.Backoff
	for {
		found, err := l.options.Resolver.Resolve(ctx)
		if err == nil {
			if now, there = found.Find(l.key); !there {
				return l.now, !found.IsMissing(l.key)
			}
			return now, true
		}
		if l.source.HasServerResponded() {
			l.source.ReportLoss(missing)
		}
		if !backoff.Wait(ctx, err) {
			return event.Target{}, false
		}
	}
}

// leave ends the target because the server does not have its resource, as err says. At the start
// that is a refusal, unless what comes is followed.
func (l *life) leave(ctx context.Context, err error) {
	if !l.source.HasServerResponded() && !l.options.Follow {
		l.refuse(err)
	}
	if ctx.Err() == nil {
		l.note(note{of: l.target, what: gone})
	}
}

func (l *life) refuse(err error) {
	l.source.AssumeServerResponded()
	l.note(note{of: l.target, what: refused, Observation: source.Observation{Event: event.Event{Err: l.wrap(err)}}})
}

// switchVersion goes on with found, if that is another version of the resource, or scope.
func (l *life) switchVersion(found event.Target) bool {
	if found.Resource() == l.now.Resource() && found.Namespaced() == l.now.Namespaced() {
		return false
	}
	l.now = found
	l.source.SetTarget(found)
	l.note(note{of: l.target, what: switched, Observation: source.Observation{Event: event.Event{Target: found}}})
	return true
}

// isUsage: the request makes no sense, and never will.
func isUsage(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }
