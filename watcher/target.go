package watcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// target is the life of one Target: session after session until the context
// ends, with one ledger for all of them.
type target struct {
	Target
	*run
	// synced, if not nil, is called once, when all that existed at the start has
	// been told.
	synced func(*session)
	// begun, if not nil, is called once, when the server has first answered.
	begun func()

	mu      sync.Mutex
	arrived sync.Cond // on mu: cargo has arrived
	ledger  ledger
	// started: the server has served it once. answered: or it has said no, which
	// is an answer, too.
	started, answered bool
	// first: the first sync is not over.
	first bool
	// cargo is on its way to the handler, beside the informer.
	cargo map[cargoKey]cargo
	// settled: the sync of the present session is over, and has been told.
	settled bool
	// at is the resourceVersion that the informer has been taken to; empty before
	// the first sync, and when the resource is gone.
	at string
}

func newTarget(t Target, r *run) *target {
	rt := &target{
		Target: t,
		run:    r,
		ledger: ledger{gvk: t.Mapping.GroupVersionKind, told: map[cache.ObjectName]entry{}},
		first:  true,
	}
	rt.arrived.L = &rt.mu
	return rt
}

// live watches until ctx ends. It returns an error only if the target could not
// start. denied is told when a right is missing at the start; live then tries on.
func (t *target) live(ctx context.Context, denied func(error)) error {
	backoff := newBackoff()
	for {
		err := t.session(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsForbidden(err):
			t.setAnswered()
			denied(t.wrap(err))
		case !t.hasAnswer():
			return t.wrap(err)
		case apierrors.IsNotFound(err):
			t.resolveAgain(ctx)
		}
		if t.hasSettled() {
			backoff.reset()
		}
		if !backoff.wait(ctx, err) {
			return nil
		}
	}
}

// resolveAgain waits until the server has the resource, after a 404 that may
// mean that it has it no more, or in another version, or not yet again.
func (t *target) resolveAgain(ctx context.Context) {
	backoff := newBackoff()
	for gone := false; ; {
		mappings, err := t.options.Resolver.Resolve(ctx, t.Mapping.Resource.GroupResource().String())
		switch {
		case err == nil && len(mappings) == 1:
			t.returned(mappings[0], gone)
			return
		case meta.IsNoMatchError(err) && !gone:
			gone = true
			t.gone()
		}
		if !backoff.wait(ctx, err) {
			return
		}
	}
}

// gone tells that the resource, and with it all its objects, is gone.
func (t *target) gone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.begin()
	t.tell(t.ledger.sweep())
	t.at = ""
	t.markLocked(Event{Type: Gone})
}

func (t *target) returned(m *meta.RESTMapping, wasGone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Mapping = m
	t.ledger.gvk = m.GroupVersionKind
	if wasGone {
		t.markLocked(Event{Type: Arrived})
	}
}

// wrap says what was being done when err came.
func (t *target) wrap(err error) error {
	where := ""
	if t.Namespace != "" {
		where = " in namespace " + t.Namespace
	}
	return fmt.Errorf("watch %s%s: %w", t.Resource().GroupResource(), where, err)
}

func (t *target) mark(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.markLocked(e)
}

func (t *target) markLocked(e Event) {
	e.Target, e.Time = t.Target, time.Now()
	t.emit(e)
}

func (t *target) setStarted() {
	t.mu.Lock()
	first := !t.started
	t.started = true
	t.mu.Unlock()
	if first && t.begun != nil {
		t.begun()
	}
}

func (t *target) setAnswered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered = true
}

func (t *target) hasAnswer() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.started || t.answered
}

func (t *target) hasSettled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settled
}

func (t *target) judge(err error, p phase, resumed bool) verdict {
	return judge(err, p, t.hasAnswer(), resumed)
}

func (t *target) listTimeout() time.Duration {
	return cmp.Or(t.options.RequestTimeout, time.Minute)
}

func (t *target) watchLife() time.Duration {
	return cmp.Or(t.options.WatchLife, 90*time.Second)
}

func (t *target) syncSilence() time.Duration {
	return cmp.Or(t.options.SyncSilence, 10*time.Second)
}

// errEnded is the cause with which a session ends because its work is done.
var errEnded = errors.New("ended")
