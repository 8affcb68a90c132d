package watcher

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

// target is the life of one Target: session after session until the context ends
// or the resource is gone, with one ledger for all of them.
type target struct {
	Target
	*run
	id TargetKey
	// index is the target's place among those of the start.
	index int
	// joined: the server did not have it when Run began.
	joined bool
	// poked holds one: the server is to be asked whether it has the resource.
	poked chan struct{}
	// cancel ends the target; ended is closed when it has.
	cancel context.CancelFunc
	ended  chan struct{}
	// refused, if not nil, is called once, when the server's first answer is no.
	refused func(error)
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
	// down is how the failure was told that no answer has come after yet; empty
	// while all is well.
	down Type
	// first: the first sync is not over.
	first bool
	// carriedOn: an earlier run has told all that existed at its start.
	carriedOn bool
	// owed are deletions to be told before anything else.
	owed []Event
	// cargo is on its way to the handler, beside the informer.
	cargo map[cargoKey]cargo
	// settled: the sync of the present session is over, and has been told.
	settled bool
	// at is the resourceVersion that the informer has been taken to; empty before
	// the first sync.
	at string
}

func newTarget(t Target, r *run) *target {
	rt := &target{
		Target: t,
		run:    r,
		id:     t.Key(),
		poked:  make(chan struct{}, 1),
		ledger: ledger{gvk: t.Mapping.GroupVersionKind, told: map[cache.ObjectName]entry{}},
		first:  true,
	}
	rt.arrived.L = &rt.mu
	return rt
}

// wrap says what was being done when err came.
func (t *target) wrap(err error) error { return &TargetError{t.Target, err} }

func (t *target) mark(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.markLocked(e)
}

func (t *target) markLocked(e Event) {
	e.Target, e.Time = t.Target, time.Now()
	t.emit(emission{e, 0})
}

// lost tells that the connection is down, or denied: once, unless the one turns
// into the other.
func (t *target) lost(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if how := lossType(err); t.down != how {
		t.down = how
		t.markLocked(Event{Type: how, Err: err})
	}
}

// found tells that the server is there again, and has missed nothing since
// resourceVersion; nothing if that is empty.
func (t *target) found(resourceVersion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	again := t.down != ""
	t.down = ""
	if again && resourceVersion != "" {
		t.markLocked(Event{Type: Reconnected, ResourceVersion: resourceVersion})
	}
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
