package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	// Duration is how long another replica waits for the one that holds the Lease to write it again.
	Duration = 8 * time.Second
	// HeldFor is how long after a write it is held for sure. What is left until Duration is for what is under way.
	HeldFor = 5 * time.Second
	// every is how often it is written, or looked at.
	every = time.Second
	// askWithin is how long the server may take.
	askWithin = 2 * time.Second
)

// Options say what decides, and who this replica is.
type Options struct {
	Client          coordinationv1client.LeasesGetter
	Namespace, Name string // of the Lease
	Identity        string // no other replica, and no other run, has the same
	// Failed gets why the Lease can't be read or written, once until that changes, after somebody was known to hold it.
	Failed func(error)
}

// Election is the part of one replica in it.
type Election struct {
	Options
	changed chan struct{} // has one if State may be another one

	mu     sync.Mutex
	known  bool   // the server has answered
	led    bool   // somebody has held the Lease
	err    error  // of the last question
	holder string // another replica, as far as that is known
	term   *Term  // nil: there was none, or it is over
	own    *coordinationv1.Lease
	seen   sight
}

// sight is what was there at the last look.
type sight struct{ version, holder string }

// State is what is known.
type State struct {
	// Known: the server has answered. Err is why it has not, or not the last time.
	Known bool
	Err   error
	// Term is that of this replica; nil: it holds the Lease no more, or not yet. Doubtful: whether it does is not known.
	Term     *Term
	Doubtful bool
	Holder   string // another one that holds it; empty: nobody is known to
}

// New returns an Election in which nobody takes part yet.
func New(o Options) *Election { return &Election{Options: o, changed: make(chan struct{}, 1)} }

// Changed has a signal when State may be another one.
func (e *Election) Changed() <-chan struct{} { return e.changed }

// State returns what is known now.
func (e *Election) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{Known: e.known, Err: e.err, Term: e.term, Holder: e.holder}
	s.Doubtful = e.term != nil && !e.term.isHeldLocked(time.Now())
	return s
}

// Run takes part until ctx ends. Then it gives the Lease back, if it is held.
func (e *Election) Run(ctx context.Context) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:    leases{e}, LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		},
		LeaseDuration: Duration, RenewDeadline: HeldFor, RetryPeriod: every, Name: e.Name,
		// What it calls there comes after what the server has answered, from which State is.
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	for ctx.Err() == nil { // it ends when it could not write for too long, too
		elector.Run(ctx)
	}
	return e.release(context.WithoutCancel(ctx))
}

// release gives the Lease back, so that another replica need not wait. The elector's own way may take it from another one, which
// got it while this one could not ask.
func (e *Election) release(ctx context.Context) error {
	e.mu.Lock()
	own, term := e.own, e.term
	e.overLocked()
	e.mu.Unlock()
	if term == nil {
		return nil
	}
	err := e.empty(ctx, own)
	if apierrors.IsConflict(err) { // a write of its own, whose answer it has not waited for
		if now, failed := (leases{e}).lease().Get(ctx, e.Name, metav1.GetOptions{}); failed == nil && holderOf(now) == e.Identity {
			err = e.empty(ctx, now)
		}
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // it is another's, or nobody's
		return nil
	}
	return err
}

// empty writes that nobody holds it, if it is as it was.
func (e *Election) empty(ctx context.Context, was *coordinationv1.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	lease := was.DeepCopy()
	now := metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = nil, new(int32(1))
	lease.Spec.AcquireTime, lease.Spec.RenewTime = &now, &now
	_, err := e.Client.Leases(e.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// looked notes what was there.
func (e *Election) looked(l *coordinationv1.Lease, err error) {
	if apierrors.IsNotFound(err) {
		e.answered(nil)
		return
	}
	e.answered(err)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = sight{l.ResourceVersion, holderOf(l)}
	if e.seen.holder == e.Identity {
		return
	}
	if e.seen.holder != "" && e.seen.holder != e.holder {
		e.led = true
		e.holder = e.seen.holder
		e.signal()
	}
	if e.own == nil || l.ResourceVersion != e.own.ResourceVersion {
		e.overLocked()
	}
}

// wrote notes that this replica has written the Lease, and holds it since began. was is what it has written over; empty: there
// was nothing.
func (e *Election) wrote(l *coordinationv1.Lease, was string, began time.Time) {
	e.answered(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	isOwn := e.own != nil && was == e.own.ResourceVersion || was == e.seen.version && e.seen.holder == e.Identity
	if e.term != nil && (!isOwn || e.term.Lease != l.UID) {
		e.overLocked()
	}
	e.own = l
	if e.term == nil {
		e.led = true
		e.term = e.newTerm(l)
		if was == e.seen.version {
			e.term.Former = e.seen.holder
		}
		e.signal()
	}
	e.holder = ""
	e.term.extendLocked(began.Add(HeldFor))
}

// answered notes what a question has ended with.
func (e *Election) answered(err error) {
	e.mu.Lock()
	first, led, before := !e.known, e.led, e.err
	e.known, e.err = e.known || err == nil, err
	if first || (err == nil) != (before == nil) {
		e.signal()
	}
	e.mu.Unlock()
	if err != nil && led && e.Failed != nil && (before == nil || before.Error() != err.Error()) {
		e.Failed(err)
	}
}

func (e *Election) overLocked() {
	if e.term != nil {
		e.term.endLocked()
		e.term = nil
		e.signal()
	}
}

func (e *Election) signal() {
	select {
	case e.changed <- struct{}{}:
	default: // it is known already
	}
}

// leases are those of the client; what comes of each question is noted.
type leases struct{ *Election }

func (l leases) Leases(string) coordinationv1client.LeaseInterface { return l.lease() }

func (l leases) lease() lease { return lease{l.Client.Leases(l.Namespace), l.Election} }

type lease struct {
	coordinationv1client.LeaseInterface
	of *Election
}

// Get implements coordinationv1client.LeaseInterface.
func (l lease) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	is, err := l.LeaseInterface.Get(asking, name, o)
	if ctx.Err() == nil || err == nil {
		l.of.looked(is, err)
	}
	return is, err
}

// Create implements coordinationv1client.LeaseInterface.
func (l lease) Create(ctx context.Context, to *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.write(ctx, "", func(ctx context.Context) (*coordinationv1.Lease, error) { return l.LeaseInterface.Create(ctx, to, o) })
}

// Update implements coordinationv1client.LeaseInterface.
func (l lease) Update(ctx context.Context, to *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.write(ctx, to.ResourceVersion, func(ctx context.Context) (*coordinationv1.Lease, error) { return l.LeaseInterface.Update(ctx, to, o) })
}

func (l lease) write(ctx context.Context, was string, do func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	began := time.Now()
	is, err := do(asking)
	switch {
	case err == nil:
		l.of.wrote(is, was, began)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // what is there now is asked for next
	case ctx.Err() == nil || !errors.Is(err, context.Canceled):
		l.of.answered(err)
	}
	return is, err
}
