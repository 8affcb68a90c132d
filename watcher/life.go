package watcher

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// live watches until ctx ends, or until the server no longer has the resource. It
// returns an error only if the target could not start.
func (t *target) live(ctx context.Context) error {
	backoff := newBackoff()
	for {
		err := t.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if apierrors.IsNotFound(err) && t.resolver() != nil {
			switch found, there := t.lookAgain(ctx); {
			case ctx.Err() != nil:
				return nil
			case !there:
				return t.vanish(err)
			case found.Resource() != t.Resource():
				t.adopt(found)
				continue
			}
		}
		if !t.hasAnswer() {
			if !isRefusal(err) {
				return t.wrap(err)
			}
			t.refuse(err)
		}
		if t.hasSettled() {
			backoff.reset()
		}
		if !backoff.wait(ctx, err) {
			return nil
		}
	}
}

// lookAgain asks whether the server has the resource, after a 404: it may have it
// no more, or in another version, or be wrong for a moment.
func (t *target) lookAgain(ctx context.Context) (now Target, there bool) {
	backoff := newBackoff()
	for {
		found, err := t.resolver().Resolve(ctx)
		if err == nil {
			if now, there = found.find(t.id); !there {
				return t.Target, !found.lacks(t.id)
			}
			return now, true
		}
		if !backoff.wait(ctx, err) {
			return Target{}, false
		}
	}
}

// vanish ends the target because the server does not have its resource, as it
// said with err.
func (t *target) vanish(err error) error {
	switch {
	case t.hasAnswer():
	case !t.options.Follow:
		return t.wrap(err)
	default:
		t.refuse(err)
	}
	t.gone()
	return nil
}

// refuse notes that the server refused the target at the start.
func (t *target) refuse(err error) {
	t.mu.Lock()
	t.answered = true
	t.down = lossType(err)
	t.mu.Unlock()
	if t.refused != nil {
		t.refused(t.wrap(err))
	}
}

func (t *target) resolver() Resolver { return t.options.Resolver }

// poke makes the target ask the server anew.
func (t *target) poke() { signal(t.poked) }

// gone tells that the resource, and with it all its objects, is gone.
func (t *target) gone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellOwedLocked()
	t.ledger.begin()
	t.tell(t.ledger.sweep())
	t.markLocked(Event{Type: Gone})
}

// adopt goes on with another version of the resource.
func (t *target) adopt(found Target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Target = found
	t.ledger.gvk = found.Mapping.GroupVersionKind
}
