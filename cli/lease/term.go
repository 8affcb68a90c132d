package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Term is from when a replica got the Lease until another one has.
type Term struct {
	LeaseUID       types.UID
	Number         int    // of this Lease, in order
	PreviousHolder string // who held it before; empty: nobody, or it was given back
	Since          time.Time

	of *Election
	// Of of.mu.
	until time.Time          // it is held for sure
	held  context.Context    // ends then
	lapse context.CancelFunc // ends it
	again chan struct{}      // is closed when it is held again, or the Term is over
	over  bool
	timer *time.Timer
	ends  []*func() // of OnLapse
}

// ErrOver is what can't be done in a Term that is over.
var ErrLeadershipLost = errors.New("another replica leads")

// Try returns the context of something that only who holds the Lease may do, which ends when it may be another's: begin it at once.
// It waits until the Lease is held for sure. The error is ErrOver, or of ctx.
func (t *Term) HeldContext(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for {
		t.of.mu.Lock()
		isHeld, over := t.isHeldLocked(time.Now()), t.over
		if !isHeld {
			t.lapse()
		}
		held, again := t.held, t.again
		t.of.mu.Unlock()
		switch {
		case over:
			return nil, nil, ErrLeadershipLost
		case isHeld:
			ctx, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(held, cancel)
			return ctx, func() { stop(); cancel() }, nil
		}
		select {
		case <-again:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// IsHeld reports whether the Lease is held for sure; nil: it is not.
func (t *Term) IsHeld() bool {
	if t == nil {
		return false
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return t.isHeldLocked(time.Now())
}

// OnLapse has end called each time that the Lease may be another's, until stop is called: what was begun in a try, and goes on when
// that has ended, is not to go on then.
func (t *Term) OnExpire(end func()) (stop func()) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.ends = append(t.ends, &end)
	return func() {
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		t.ends = slices.DeleteFunc(t.ends, func(one *func()) bool { return one == &end })
	}
}

func (t *Term) endAll() {
	t.of.mu.Lock()
	all := slices.Clone(t.ends)
	t.of.mu.Unlock()
	for _, end := range all {
		(*end)()
	}
}

// holdLocked begins a time in which it is held.
func (t *Term) holdLocked() {
	t.held, t.lapse = context.WithCancel(context.Background()) // of no question: it ends with the time
	context.AfterFunc(t.held, t.endAll)
}

// newTerm is for who has mu.
func (e *Election) newTerm(l *coordinationv1.Lease) *Term {
	t := &Term{LeaseUID: l.UID, Since: time.Now(), of: e, again: make(chan struct{})}
	if n := l.Spec.LeaseTransitions; n != nil {
		t.Number = int(*n)
	}
	t.holdLocked()
	t.timer = time.AfterFunc(look, t.expire)
	return t
}

// look is how often it is found out whether a Lease is held yet: no timer runs while a machine sleeps.
const look = 250 * time.Millisecond

// isHeldLocked goes by the clock that nobody sets, and by the one that does not stand still.
func (t *Term) isHeldLocked(now time.Time) bool {
	return !t.over && now.Before(t.until) && now.Round(0).Before(t.until.Round(0))
}

func (t *Term) extendLocked(until time.Time) {
	t.until = until
	t.timer.Reset(min(time.Until(until), look))
	if t.held.Err() != nil && t.isHeldLocked(time.Now()) {
		t.holdLocked()
		close(t.again)
		t.again = make(chan struct{})
		t.of.signal()
	}
}

// expire ends what is under way when the time is over. If only the clock says so that may be set, it may be that which is wrong:
// nobody is told unless that is so for long.
func (t *Term) expire() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.over {
		return
	}
	if !t.isHeldLocked(time.Now()) {
		t.lapse()
	}
	if left := time.Until(t.until); left > 0 {
		t.timer.Reset(min(left, look))
		return
	}
	t.of.signal()
}

func (t *Term) endLocked() {
	t.over = true
	t.timer.Stop()
	t.lapse()
	close(t.again)
}
