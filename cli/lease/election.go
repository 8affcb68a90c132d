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
	// HeldFor is how long after a write it is held for sure. What is left until Duration is for what is under way.
	RenewDeadline = 5 * time.Second
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
	// Failed gets why the Lease can't be read or written, once until that changes, and nil when it can again; not before somebody was
	// known to hold it.
	OnError func(error)
}

// Election is the part of one replica in it.
type Election struct {
	Options
	changed chan struct{} // has one if State may be another one

	mu     sync.Mutex
	known  bool    // the server has answered
	led    bool    // somebody has held the Lease
	wrong  trouble // written by who asks alone
	holder string  // another replica, as far as that is known
	term   *Term   // nil: there was none, or it is over
	own    *coordinationv1.Lease
	seen   sight
	freeAt time.Time // it is not taken before
}

// sight is what was there at the last look, or write; zero: nothing.
type sight struct{ version, holder string }

// trouble is why the Lease could not be read, and not be written, the last time.
type trouble struct{ reading, writing error }

func (t trouble) err() error { return cmp.Or(t.reading, t.writing) }

func (t trouble) String() string {
	if err := t.err(); err != nil {
		return err.Error()
	}
	return ""
}

// errNotFree is why a Lease is not taken that somebody has deleted, or emptied, while another replica held it: that one may not know
// it yet.
var errNotFree = errors.New("it was held until now")

// errMissing is why a Lease is not written that is not there: it is looked for next.
var errMissing = errors.New("it is not there")

// State is what is known.
type State struct {
	// Known: the server has answered. Err is why it has not, or not the last time.
	HasAnswer bool
	Err       error
	// Term is that of this replica; nil: it holds the Lease no more, or not yet. Doubtful: whether it does is not known.
	Term        *Term
	Unconfirmed bool
	OtherHolder string // another one that holds it; empty: nobody is known to
}

// New returns an Election in which nobody takes part yet.
func New(o Options) *Election { return &Election{Options: o, changed: make(chan struct{}, 1)} }

// Changed has a signal when State may be another one.
func (e *Election) Changed() <-chan struct{} { return e.changed }

// State returns what is known now.
func (e *Election) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{HasAnswer: e.known, Err: e.wrong.err(), Term: e.term, OtherHolder: e.holder}
	if s.Unconfirmed = e.term != nil && !e.term.isHeldLocked(time.Now()); s.Unconfirmed {
		e.term.lapse() // so that it is signalled when it is held again
	}
	return s
}

// Run takes part until ctx ends. Then it gives the Lease back, if it is held.
func (e *Election) Run(ctx context.Context) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:    leases{e}, LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		},
		LeaseDuration: Duration, RenewDeadline: RenewDeadline, RetryPeriod: every, Name: e.Name,
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
	isMissing := apierrors.IsNotFound(err)
	switch {
	case isMissing:
		l = new(coordinationv1.Lease)
	case err != nil:
		e.answered(trouble{err, e.wrong.writing})
		return
	}
	now, wrong := sight{l.ResourceVersion, holderOf(l)}, trouble{nil, e.wrong.writing}
	isOther := now.holder != "" && now.holder != e.Identity
	if isOther && now.version != e.seen.version { // there is nothing to write
		wrong.writing = nil
	}
	e.answered(wrong)
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.seen
	e.seen = now
	switch {
	case now.holder == e.Identity:
		return
	case isOther && now.holder != e.holder:
		e.led, e.holder = true, now.holder
		e.signal()
	case !isOther:
		if e.holder = ""; before.holder != "" && before.holder != e.Identity && !isGivenBack(l) {
			e.freeAt = time.Now().Add(RenewDeadline)
		}
	}
	if !isMissing && (e.own == nil || l.ResourceVersion != e.own.ResourceVersion) {
		e.overLocked()
	}
}

// isGivenBack reports whether it was the holder that has emptied a Lease, as empty does, and client-go.
func isGivenBack(l *coordinationv1.Lease) bool {
	return l.Spec.LeaseDurationSeconds != nil && *l.Spec.LeaseDurationSeconds == 1
}

// wrote notes that this replica has written the Lease, and holds it since began. was is what it has written over; empty: there
// was nothing.
func (e *Election) wrote(l *coordinationv1.Lease, was string, began time.Time) {
	e.answered(trouble{})
	e.mu.Lock()
	defer e.mu.Unlock()
	isOwn := was == e.seen.version && e.seen.holder == e.Identity
	if e.term != nil && (!isOwn || e.term.LeaseUID != l.UID) {
		e.overLocked()
	}
	e.own, e.seen = l, sight{l.ResourceVersion, e.Identity}
	if e.term == nil {
		e.led = true
		e.term = e.newTerm(l)
		e.signal()
	}
	e.holder = ""
	e.term.extendLocked(began.Add(RenewDeadline))
}

// answered notes what a question has ended with, of which only one is asked at a time.
func (e *Election) answered(now trouble) {
	e.mu.Lock()
	before, led := e.wrong, e.led
	e.wrong = now
	if !e.known && now.reading == nil || (now.err() == nil) != (before.err() == nil) {
		e.signal()
	}
	e.known = e.known || now.reading == nil
	e.mu.Unlock()
	if led && e.OnError != nil && now.String() != before.String() {
		e.OnError(now.err())
	}
}

// isFree reports whether the Lease may be written, if the server lets one.
func (e *Election) isFree() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !time.Now().Before(e.freeAt)
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
	if to.Name == "" { // what client-go has of one that it could not make
		return nil, errMissing
	}
	return l.write(ctx, to.ResourceVersion, func(ctx context.Context) (*coordinationv1.Lease, error) { return l.LeaseInterface.Update(ctx, to, o) })
}

func (l lease) write(ctx context.Context, was string, do func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if !l.of.isFree() {
		return nil, errNotFree
	}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	began := time.Now()
	is, err := do(asking)
	switch {
	case err == nil:
		l.of.wrote(is, was, began)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), was != "" && apierrors.IsNotFound(err): // what is there now is asked for next
	case ctx.Err() == nil: // else nobody has waited for the answer
		l.of.answered(trouble{l.of.wrong.reading, err})
	}
	return is, err
}
