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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// target is the life of one Target: session after session until the context
// ends, with one ledger for all of them.
type target struct {
	Target
	options *Options
	// emit takes an event; it may block.
	emit func(Event)
	// synced, if not nil, is called once, when all that existed at the start has
	// been told.
	synced func(*session)
	// begun, if not nil, is called once, when the server has first answered.
	begun func()

	mu       sync.Mutex
	observed sync.Cond // on mu: the ledger has observed something
	ledger   ledger
	// started: the server has answered once.
	started bool
	// previewing: the first sync; the wire tells what it sees.
	previewing bool
	// settled: the sync of the present session is over, and has been told.
	settled bool
	// syncedTo is the resourceVersion of the last sync.
	syncedTo string
}

func newTarget(t Target, options *Options, emit func(Event)) *target {
	rt := &target{
		Target:     t,
		options:    options,
		emit:       emit,
		ledger:     ledger{gvk: t.Mapping.GroupVersionKind, told: map[cache.ObjectName]entry{}},
		previewing: true,
	}
	rt.observed.L = &rt.mu
	return rt
}

// run watches until ctx ends. It returns an error only if the target could not
// start. denied is told when a right is missing at the start; run then tries on.
func (t *target) run(ctx context.Context, denied func(error)) error {
	backoff := newBackoff()
	for {
		err := t.session(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsForbidden(err):
			denied(t.wrap(err))
		case !t.hasStarted():
			return t.wrap(err)
		case apierrors.IsNotFound(err):
			t.resolveAgain(ctx)
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
			t.arrived(mappings[0], gone)
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
	t.emit(Event{Type: Gone, Target: t.Target})
}

func (t *target) arrived(m *meta.RESTMapping, wasGone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Mapping = m
	t.ledger.gvk = m.GroupVersionKind
	if wasGone {
		t.emit(Event{Type: Arrived, Target: t.Target})
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

// The handler of the informer. Everything goes through the ledger.

var _ cache.ResourceEventHandler = (*target)(nil)

func (t *target) OnAdd(obj any, initial bool) {
	t.deliver(observation{object: object(obj)}, initial)
}

func (t *target) OnUpdate(old, obj any) {
	t.deliver(observation{object: object(obj), old: object(old)}, false)
}

func (t *target) OnDelete(obj any) {
	tombstone, unknown := obj.(cache.DeletedFinalStateUnknown)
	if unknown {
		obj = tombstone.Obj
	}
	t.deliver(observation{object: object(obj), deleted: true, unknown: unknown}, false)
}

func object(obj any) Object {
	u, _ := obj.(*unstructured.Unstructured)
	return Object{u}
}

// deliver observes what the informer hands out. The first thing that is not
// part of the sync ends it: the informer has handed out all of that before.
func (t *target) deliver(o observation, initial bool) {
	if o.object.IsZero() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !initial {
		t.settleLocked()
	}
	t.observeLocked(o)
}

func (t *target) observeLocked(o observation) {
	t.tell(t.ledger.observe(o))
	t.observed.Broadcast()
}

func (t *target) tell(events []Event) {
	for _, e := range events {
		e.Target = t.Target
		t.emit(e)
	}
}

// preview observes an event of the first sync right off the wire.
func (t *target) preview(e watch.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.previewing {
		return
	}
	t.observeLocked(observation{
		object:  object(e.Object),
		deleted: e.Type == watch.Deleted,
		initial: e.Type == watch.Added,
	})
}

// beginSync: the server starts to name all that is there. In a session that has
// settled already the informer finds out by itself what is missing.
func (t *target) beginSync() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.settled {
		t.ledger.begin()
	}
}

// endSync: the server has named all that was there at resourceVersion to. from
// is where the watch had broken off, if there was one.
func (t *target) endSync(from, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.previewing = false
	t.syncedTo = to
	if t.settled {
		t.emit(Event{Type: Gap, Target: t.Target, From: from, ResourceVersion: to})
	}
}

// settle ends the sync of a session.
func (t *target) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settleLocked()
}

func (t *target) settleLocked() {
	if t.settled {
		return
	}
	t.settled = true
	t.tell(t.ledger.sweep())
	t.emit(Event{Type: Synced, Target: t.Target, Count: len(t.ledger.told), ResourceVersion: t.syncedTo})
}

// awaitObserved returns when the ledger has observed a state of o at least as
// late as this one.
func (t *target) awaitObserved(o Object, deleted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.ledger.knows(o, deleted) {
		t.observed.Wait()
	}
}

func (t *target) mark(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Target = t.Target
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

func (t *target) hasStarted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.started
}

func (t *target) judge(err error, p phase) verdict { return judge(err, p, t.hasStarted()) }

// strip removes what is not to be shown, before anybody keeps it.
func (t *target) strip(u *unstructured.Unstructured) {
	if !t.options.ManagedFields {
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	}
}

func (t *target) listTimeout() time.Duration {
	return cmp.Or(t.options.RequestTimeout, time.Minute)
}

func (t *target) syncSilence() time.Duration {
	return cmp.Or(t.options.SyncSilence, 10*time.Second)
}

// errEnded is the cause with which a session ends because its work is done.
var errEnded = errors.New("ended")
