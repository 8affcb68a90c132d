package lease

import (
	"cmp"
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
	// RenewDeadline is how long the Lease is certainly held after a write began. The rest of Duration is time for
	// canceled operations to end.
	RenewDeadline = 5 * time.Second
	// retryPeriod is how often the holder renews the Lease, and other replicas read it.
	retryPeriod = time.Second
	// requestTimeout limits each request to the server.
	requestTimeout = 2 * time.Second
)

// Options identify the Lease and the replica.
type Options struct {
	Client          coordinationv1client.LeasesGetter
	Namespace, Name string // of the Lease
	Identity        string // unique among all replicas and runs
	// OnError, unless nil, is called when the Lease can no longer be read or written, when the reason changes, and with nil
	// when both work again. It is not called before any replica, including this one, was seen to hold the Lease.
	OnError func(error)
}

// Election is one replica's participation in the election.
type Election struct {
	Options
	changed chan struct{} // has a value if State may have changed

	mu        sync.Mutex
	hasAnswer bool       // the server has answered a read
	hadHolder bool       // a replica was seen to hold the Lease
	failure   leaseError // written only by the elector's goroutine
	holder    string     // another replica that holds the Lease, or empty
	term      *Term      // nil if this replica has no Term
	// own is the Lease as this replica wrote it last, or nil.
	own         *coordinationv1.Lease
	observed    observation
	notTakeable time.Time // this replica does not write the Lease before this time
}

// observation is the resource version and holder of the Lease when it was last read or written. Both are empty if the Lease
// does not exist.
type observation struct{ version, holder string }

// leaseError contains the errors of the last read and the last write of the Lease. They are nil after a success.
type leaseError struct{ read, write error }

func (t leaseError) err() error { return cmp.Or(t.read, t.write) }

func (t leaseError) String() string {
	if err := t.err(); err != nil {
		return err.Error()
	}
	return ""
}

// errNotFree is returned by writes after a Lease of another replica was deleted or its holder was cleared: that replica may
// not have noticed yet, and still act as the holder.
var errNotFree = errors.New("the Lease was held a moment ago")

// errMissing is returned by updates of a Lease that does not exist. The elector reads it again before the next write.
var errMissing = errors.New("the Lease does not exist")

// State is a snapshot of an Election.
type State struct {
	HasAnswer bool  // the server has answered a read of the Lease
	Err       error // of the last read or write, or nil
	// Term is nil if this replica does not hold the Lease. If Unconfirmed is true, it held the Lease, but has not renewed
	// it in time, and another replica may hold it now.
	Term        *Term
	Unconfirmed bool
	OtherHolder string // identity of another replica that holds the Lease, or empty
}

// New returns an Election. The replica takes part once Run is called.
func New(o Options) *Election { return &Election{Options: o, changed: make(chan struct{}, 1)} }

// Changed receives a value when State may have changed. It is never closed.
func (e *Election) Changed() <-chan struct{} { return e.changed }

// State returns the current State.
func (e *Election) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{HasAnswer: e.hasAnswer, Err: e.failure.err(), Term: e.term, OtherHolder: e.holder}
	if s.Unconfirmed = e.term != nil && !e.term.isHeldLocked(time.Now()); s.Unconfirmed {
		e.term.expireHeld() // so that Changed is signaled when the Lease is renewed
	}
	return s
}

// Run takes part until ctx ends. Then it releases the Lease if this replica holds it.
func (e *Election) Run(ctx context.Context) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:    recordingClient{e}, LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		},
		LeaseDuration: Duration, RenewDeadline: RenewDeadline, RetryPeriod: retryPeriod, Name: e.Name,
		// State is derived from the answers of the server, which come before these calls.
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	for ctx.Err() == nil { // the elector also returns when it could not renew the Lease within RenewDeadline
		elector.Run(ctx)
	}
	return e.release(context.WithoutCancel(ctx))
}

// release clears the holder of the Lease, so that another replica need not wait. The elector's ReleaseOnCancel could release
// a Lease that another replica has taken while this one could not reach the server.
func (e *Election) release(ctx context.Context) error {
	e.mu.Lock()
	own, term := e.own, e.term
	e.endTermLocked()
	e.mu.Unlock()
	if term == nil {
		return nil
	}
	err := e.clearHolder(ctx, own)
	if apierrors.IsConflict(err) { // maybe with an own write whose answer was lost
		if now, failed := (recordingClient{e}).lease().Get(ctx, e.Name, metav1.GetOptions{}); failed == nil && holderOf(now) == e.Identity {
			err = e.clearHolder(ctx, now)
		}
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // this replica no longer holds it
		return nil
	}
	return err
}

// clearHolder writes the Lease without a holder. The server refuses that if the Lease has changed since was.
func (e *Election) clearHolder(ctx context.Context, was *coordinationv1.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
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

// recordRead records the result of reading the Lease.
func (e *Election) recordRead(l *coordinationv1.Lease, err error) {
	isMissing := apierrors.IsNotFound(err)
	switch {
	case isMissing:
		l = new(coordinationv1.Lease)
	case err != nil:
		e.recordErrors(leaseError{err, e.failure.write})
		return
	}
	now, failure := observation{l.ResourceVersion, holderOf(l)}, leaseError{nil, e.failure.write}
	isOther := now.holder != "" && now.holder != e.Identity
	if isOther && now.version != e.observed.version { // another replica renews it: this one need not write
		failure.write = nil
	}
	e.recordErrors(failure)
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.observed
	e.observed = now
	switch {
	case now.holder == e.Identity:
		return
	case isOther && now.holder != e.holder:
		e.hadHolder, e.holder = true, now.holder
		e.signal()
	case !isOther:
		if e.holder = ""; before.holder != "" && before.holder != e.Identity && !isReleased(l) {
			e.notTakeable = time.Now().Add(RenewDeadline)
		}
	}
	if !isMissing && (e.own == nil || l.ResourceVersion != e.own.ResourceVersion) {
		e.endTermLocked()
	}
}

// isReleased reports whether the holder itself released the Lease. clearHolder and client-go then set a duration of one
// second.
func isReleased(l *coordinationv1.Lease) bool {
	return l.Spec.LeaseDurationSeconds != nil && *l.Spec.LeaseDurationSeconds == 1
}

// recordWrite records that this replica wrote the Lease as its holder. began is when the request was sent. was is the
// resource version that the write replaced, or empty if it created the Lease.
func (e *Election) recordWrite(l *coordinationv1.Lease, was string, began time.Time) {
	e.recordErrors(leaseError{})
	e.mu.Lock()
	defer e.mu.Unlock()
	isRenewal := was == e.observed.version && e.observed.holder == e.Identity
	if e.term != nil && (!isRenewal || e.term.LeaseUID != l.UID) {
		e.endTermLocked()
	}
	e.own, e.observed = l, observation{l.ResourceVersion, e.Identity}
	if e.term == nil {
		e.hadHolder = true
		e.term = e.newTerm(l)
		e.signal()
	}
	e.holder = ""
	e.term.extendLocked(began.Add(RenewDeadline))
}

// recordErrors replaces failure after a request. The elector sends one request at a time.
func (e *Election) recordErrors(now leaseError) {
	e.mu.Lock()
	before, hadHolder := e.failure, e.hadHolder
	e.failure = now
	if !e.hasAnswer && now.read == nil || (now.err() == nil) != (before.err() == nil) {
		e.signal()
	}
	e.hasAnswer = e.hasAnswer || now.read == nil
	e.mu.Unlock()
	if hadHolder && e.OnError != nil && now.String() != before.String() {
		e.OnError(now.err())
	}
}

// isFree reports whether this replica may try to write the Lease.
func (e *Election) isFree() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !time.Now().Before(e.notTakeable)
}

func (e *Election) endTermLocked() {
	if e.term != nil {
		e.term.endLocked()
		e.term = nil
		e.signal()
	}
}

func (e *Election) signal() {
	select {
	case e.changed <- struct{}{}:
	default: // a signal is already waiting
	}
}

// recordingClient wraps Options.Client for the elector and records the result of each request in the Election.
type recordingClient struct{ *Election }

func (c recordingClient) Leases(string) coordinationv1client.LeaseInterface { return c.lease() }

func (c recordingClient) lease() recordingLease {
	return recordingLease{c.Client.Leases(c.Namespace), c.Election}
}

type recordingLease struct {
	coordinationv1client.LeaseInterface
	election *Election
}

// Get implements coordinationv1client.LeaseInterface.
func (l recordingLease) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	got, err := l.LeaseInterface.Get(limited, name, o)
	if ctx.Err() == nil || err == nil {
		l.election.recordRead(got, err)
	}
	return got, err
}

// Create implements coordinationv1client.LeaseInterface.
func (l recordingLease) Create(ctx context.Context, to *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.write(ctx, "", func(ctx context.Context) (*coordinationv1.Lease, error) { return l.LeaseInterface.Create(ctx, to, o) })
}

// Update implements coordinationv1client.LeaseInterface.
func (l recordingLease) Update(ctx context.Context, to *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if to.Name == "" { // the elector updates the empty Lease that a failed Create returned
		return nil, errMissing
	}
	return l.write(ctx, to.ResourceVersion, func(ctx context.Context) (*coordinationv1.Lease, error) { return l.LeaseInterface.Update(ctx, to, o) })
}

func (l recordingLease) write(ctx context.Context, was string, do func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if !l.election.isFree() {
		return nil, errNotFree
	}
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	began := time.Now()
	written, err := do(limited)
	switch {
	case err == nil:
		l.election.recordWrite(written, was, began)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), was != "" && apierrors.IsNotFound(err): // the elector reads the Lease next
	case ctx.Err() == nil: // an error of a canceled request says nothing about the server
		l.election.recordErrors(leaseError{l.election.failure.read, err})
	}
	return written, err
}
