package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Term is the time for which a replica leads. It begins when the replica acquires the Lease. It ends when the replica
// releases the Lease, or sees that another client has written it.
type Term struct {
	LeaseUID       types.UID
	Number         int    // LeaseTransitions when the Term began
	PreviousHolder string // unused: always empty
	Since          time.Time

	election *Election
	// The other fields require election.mu.

	until      time.Time          // the Lease is certainly held before this time
	held       context.Context    // canceled when until has passed
	expireHeld context.CancelFunc // cancels held
	renewed    chan struct{}      // closed when the Lease is renewed after it expired, or the Term is over
	over       bool
	timer      *time.Timer
	onExpire   []*func() // arguments of OnExpire
}

// ErrLeadershipLost is returned by HeldContext if the Term is over.
var ErrLeadershipLost = errors.New("another replica leads")

// HeldContext returns a context for an operation that only the leader may perform. It is canceled when another replica may
// have taken the Lease, so the operation must begin at once. The caller must call the returned function when the operation
// has ended. HeldContext blocks until the Lease is certainly held. The error is ErrLeadershipLost or the error of ctx.
func (t *Term) HeldContext(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for {
		t.election.mu.Lock()
		isHeld, over := t.isHeldLocked(time.Now()), t.over
		if !isHeld {
			t.expireHeld()
		}
		held, renewed := t.held, t.renewed
		t.election.mu.Unlock()
		switch {
		case over:
			return nil, nil, ErrLeadershipLost
		case isHeld:
			ctx, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(held, cancel)
			return ctx, func() { stop(); cancel() }, nil
		}
		select {
		case <-renewed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// IsHeld reports whether the Lease is certainly held. It is false if t is nil.
func (t *Term) IsHeld() bool {
	if t == nil {
		return false
	}
	t.election.mu.Lock()
	defer t.election.mu.Unlock()
	return t.isHeldLocked(time.Now())
}

// OnExpire registers a function that is called each time when another replica may have taken the Lease, until stop is
// called. It is meant for work that continues after the operation with a HeldContext has ended. The function is called in
// its own goroutine.
func (t *Term) OnExpire(end func()) (stop func()) {
	t.election.mu.Lock()
	defer t.election.mu.Unlock()
	t.onExpire = append(t.onExpire, &end)
	return func() {
		t.election.mu.Lock()
		defer t.election.mu.Unlock()
		t.onExpire = slices.DeleteFunc(t.onExpire, func(registered *func()) bool { return registered == &end })
	}
}

func (t *Term) callOnExpire() {
	t.election.mu.Lock()
	all := slices.Clone(t.onExpire)
	t.election.mu.Unlock()
	for _, end := range all {
		(*end)()
	}
}

// holdLocked creates the held context for the time until the Lease expires.
func (t *Term) holdLocked() {
	t.held, t.expireHeld = context.WithCancel(context.Background()) // independent of the context of any request
	context.AfterFunc(t.held, t.callOnExpire)
}

// newTerm requires e.mu to be held.
func (e *Election) newTerm(l *coordinationv1.Lease) *Term {
	t := &Term{LeaseUID: l.UID, Since: time.Now(), election: e, renewed: make(chan struct{})}
	if n := l.Spec.LeaseTransitions; n != nil {
		t.Number = int(*n)
	}
	t.holdLocked()
	t.timer = time.AfterFunc(checkInterval, t.checkExpiry)
	return t
}

// checkInterval is how often checkExpiry runs. A single timer until the Lease expires would not be enough, because timers do
// not run while the machine sleeps.
const checkInterval = 250 * time.Millisecond

// isHeldLocked compares the monotonic clock, which can't be set, and the wall clock, which advances while the machine sleeps.
func (t *Term) isHeldLocked(now time.Time) bool {
	return !t.over && now.Before(t.until) && now.Round(0).Before(t.until.Round(0))
}

func (t *Term) extendLocked(until time.Time) {
	t.until = until
	t.timer.Reset(min(time.Until(until), checkInterval))
	if t.held.Err() != nil && t.isHeldLocked(time.Now()) {
		t.holdLocked()
		close(t.renewed)
		t.renewed = make(chan struct{})
		t.election.signal()
	}
}

// checkExpiry cancels the held context when the Lease has expired. If it has expired only by the wall clock, that clock may
// have been set. Then checkExpiry signals no change before it has also expired by the monotonic clock.
func (t *Term) checkExpiry() {
	t.election.mu.Lock()
	defer t.election.mu.Unlock()
	if t.over {
		return
	}
	if !t.isHeldLocked(time.Now()) {
		t.expireHeld()
	}
	if left := time.Until(t.until); left > 0 {
		t.timer.Reset(min(left, checkInterval))
		return
	}
	t.election.signal()
}

func (t *Term) endLocked() {
	t.over = true
	t.timer.Stop()
	t.expireHeld()
	close(t.renewed)
}
