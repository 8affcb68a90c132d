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
		missing, adopted := apierrors.IsNotFound(err), false
		if missing && t.resolver() != nil {
			found, there := t.lookAgain(ctx, err)
			switch {
			case ctx.Err() != nil:
				return nil
			case !there:
				t.vanish(ctx, err)
				return nil
			}
			adopted = t.adopt(found)
		}
		switch {
		case adopted: // it is another that is asked for now
		case !t.hasAnswer() && isUsage(err):
			return t.wrap(err)
		case !t.hasAnswer():
			t.refuse(err)
		case missing:
			t.lost(err)
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
func (t *target) lookAgain(ctx context.Context, missing error) (now Target, there bool) {
	backoff := newBackoff()
	for {
		found, err := t.resolver().Resolve(ctx)
		if err == nil {
			if now, there = found.Find(t.id); !there {
				return t.Target, !found.Lacks(t.id)
			}
			return now, true
		}
		if t.hasAnswer() {
			t.lost(missing)
		}
		if !backoff.wait(ctx, err) {
			return Target{}, false
		}
	}
}

// vanish ends the target because the server does not have its resource, as it
// said with err. At the start that is a refusal, unless what comes is followed.
func (t *target) vanish(ctx context.Context, err error) {
	if !t.hasAnswer() && !t.options.Follow {
		t.refuse(err)
	}
	if ctx.Err() == nil {
		t.gone()
	}
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

// tellRefusal tells that the target was refused at the start, if it has not
// turned into something else since.
func (t *target) tellRefusal(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if how := lossType(err); t.down == how {
		t.markLocked(Event{Type: how, Err: err})
	}
}

func (t *target) resolver() Resolver { return t.options.Resolver }

// poke makes the target ask the server anew.
func (t *target) poke() { signal(t.poked) }

// retire ends the target without a word, and waits for that.
func (t *target) retire() {
	t.cancel()
	<-t.ended
}

// gone tells that the resource, and with it all its objects, is gone.
func (t *target) gone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellOwedLocked()
	t.ledger.begin()
	t.tell(t.ledger.sweep())
	t.markLocked(Event{Type: Gone})
}

// adopt goes on with another version of the resource, or another scope. It reports
// whether found is such.
func (t *target) adopt(found Target) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found.Resource() == t.Resource() && found.Namespaced() == t.Namespaced() {
		return false
	}
	t.Target = found
	t.ledger.gvk = found.Mapping.GroupVersionKind
	return true
}
