package lease

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// server has one Lease, and does not take writes over a version that it does not have. TestLease* of testdata/program have the real one.
type server struct {
	mu     sync.Mutex
	lease  *coordinationv1.Lease
	writes int
}

// client is the way to it of one replica.
type client struct {
	coordinationv1client.LeaseInterface
	to *server

	mu   sync.Mutex
	away error // nil: it is there
	lost bool  // answers of writes are
	deny error // what writes are answered with; nil: they may
}

func (c *client) Leases(string) coordinationv1client.LeaseInterface { return c }

func (c *client) is(away error, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.lost = away, lost
}

func (c *client) denies(writes error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deny = writes
}

func (c *client) denied() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deny
}

func (c *client) state() (away error, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away, c.lost
}

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (c *client) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if away, _ := c.state(); away != nil {
		return nil, away
	}
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	if c.to.lease == nil {
		return nil, apierrors.NewNotFound(leaseResource, name)
	}
	return c.to.lease.DeepCopy(), nil
}

func (c *client) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return c.write(l, "")
}

func (c *client) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if l.Name == "" {
		return nil, errors.New("resource name may not be empty")
	}
	return c.write(l, l.ResourceVersion)
}

func (c *client) write(l *coordinationv1.Lease, over string) (*coordinationv1.Lease, error) {
	away, lost := c.state()
	if err := cmp.Or(away, c.denied()); err != nil {
		return new(coordinationv1.Lease), err // as the real one does
	}
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	is := ""
	if c.to.lease != nil {
		is = c.to.lease.ResourceVersion
	}
	if is != over {
		return nil, apierrors.NewConflict(leaseResource, l.Name, errors.New("another version"))
	}
	c.to.writes++
	c.to.lease = l.DeepCopy()
	c.to.lease.UID, c.to.lease.ResourceVersion = "uid", strconv.Itoa(c.to.writes)
	if lost {
		return nil, errors.New("no answer")
	}
	return c.to.lease.DeepCopy(), nil
}

// replica is one that takes part.
type replica struct {
	*Election
	client *client
	stop   func() // ends it in good order

	mu     sync.Mutex
	failed []string // what was wrong, one after the other; empty: nothing any more
}

func (r *replica) fails(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	r.failed = append(r.failed, text)
}

func (r *replica) failures() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failed)
}

func startReplica(t *testing.T, s *server, name string) *replica {
	c := &client{to: s}
	r := &replica{client: c}
	r.Election = New(Options{Client: c, Namespace: "ns", Name: "feed", Identity: name, OnError: r.fails})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// may reports whether something may begin in a Term now.
func may(t *Term) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, end, err := t.HeldContext(ctx)
	if err == nil {
		end()
	}
	return err == nil
}

// awaits waits until something is so, and returns how long that took.
func awaits(t *testing.T, what string, is func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for synctest.Wait(); !is(); synctest.Wait() {
		if time.Since(begun) > time.Minute {
			t.Fatal(what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begun)
}

// TestElection: who can't write stops before another one begins, and is over when it finds out; who ends gives the Lease back.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := startReplica(t, s, "a")
		awaits(t, "a leads", func() bool { return a.State().Term != nil })
		b := startReplica(t, s, "b")
		awaits(t, "b stands by", func() bool { return b.State().OtherHolder == "a" })
		time.Sleep(time.Minute)
		first := a.State().Term
		if s := a.State(); s.Unconfirmed || !may(first) || b.State().Term != nil {
			t.Fatalf("%+v", s)
		}
		under, end, err := first.HeldContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		var ended, other atomic.Int32
		defer first.OnExpire(func() { ended.Add(1) })()
		first.OnExpire(func() { other.Add(1) })()

		a.client.is(errors.New("away"), false)
		stops := awaits(t, "a is in doubt", func() bool { return a.State().Unconfirmed })
		if may(first) || under.Err() == nil || a.State().Term != first || b.State().Term != nil {
			t.Errorf("in doubt: %+v, %v, %+v", a.State(), under.Err(), b.State())
		}
		if synctest.Wait(); ended.Load() != 1 || other.Load() != 0 {
			t.Errorf("what goes on was ended %d times, and what has ended %d times", ended.Load(), other.Load())
		}
		takes := awaits(t, "b leads", func() bool { return b.State().Term != nil })
		if stops > RenewDeadline || takes < Duration-RenewDeadline-20*time.Millisecond || stops+takes > Duration+5*time.Second {
			t.Errorf("a stopped after %v, b began %v later", stops, takes)
		}
		second := b.State().Term
		if second.Number != first.Number+1 || second.LeaseUID != first.LeaseUID {
			t.Errorf("%+v after %+v", second, first)
		}
		a.client.is(nil, false)
		awaits(t, "a finds out", func() bool { return a.State().Term == nil && a.State().OtherHolder == "b" })
		if _, _, err := first.HeldContext(t.Context()); !errors.Is(err, ErrLeadershipLost) {
			t.Error(err)
		}

		b.stop()
		if took := awaits(t, "a leads again", func() bool { return a.State().Term != nil }); took > 3*time.Second {
			t.Errorf("a began after %v", took)
		}
		if third := a.State().Term; third.Number != second.Number+1 || may(second) || !may(third) {
			t.Errorf("%+v after %+v", third, second)
		}
	})
}

// TestElectionAlone: who was away and alone goes on in its Term; an answer that was lost is no other's doing.
func TestElectionAlone(t *testing.T) {
	for name, lost := range map[string]bool{"away": false, "answers lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startReplica(t, &server{}, "a")
				awaits(t, "a leads", func() bool { return a.State().Term != nil })
				term := a.State().Term
				if lost {
					a.client.is(nil, true)
				} else {
					a.client.is(errors.New("away"), false)
				}
				awaits(t, "a is in doubt", func() bool { return a.State().Unconfirmed })
				waits := make(chan error)
				go func() {
					_, _, err := term.HeldContext(t.Context())
					waits <- err
				}()
				time.Sleep(time.Minute)
				a.client.is(nil, false)
				if err := <-waits; err != nil || a.State().Term != term || a.State().Unconfirmed {
					t.Errorf("%v, %+v", err, a.State())
				}
			})
		})
	}
}

// TestElectionTaken: a Lease that somebody else wrote is another's, whoever that was, and whatever it says now.
func TestElectionTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := startReplica(t, s, "a")
		awaits(t, "a leads", func() bool { return a.State().Term != nil })
		first := a.State().Term
		s.mu.Lock()
		s.lease.Spec.HolderIdentity = nil
		s.writes++
		s.lease.ResourceVersion = strconv.Itoa(s.writes)
		s.mu.Unlock()
		awaits(t, "a leads anew", func() bool { return a.State().Term != nil && a.State().Term != first })
		if may(first) {
			t.Error("the first Term goes on")
		}
	})
}

// TestElectionDenied: what is wrong is said once, while it is, also if it is writing alone that is; and that it is not any more.
func TestElectionDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a, b := startReplica(t, s, "a"), (*replica)(nil)
		awaits(t, "a leads", func() bool { return a.State().Term != nil })
		b = startReplica(t, s, "b")
		awaits(t, "b stands by", func() bool { return b.State().OtherHolder == "a" })
		no := apierrors.NewForbidden(leaseResource, "feed", errors.New("no"))
		a.client.denies(no)
		b.client.denies(no)
		time.Sleep(time.Minute)
		for _, r := range []*replica{a, b} {
			if got := r.failures(); !slices.Equal(got, []string{no.Error()}) {
				t.Errorf("%s: %q", r.Identity, got)
			}
		}
		a.client.denies(nil)
		awaits(t, "a goes on", func() bool { return !a.State().Unconfirmed })
		time.Sleep(time.Minute)
		for _, r := range []*replica{a, b} {
			if got := r.failures(); !slices.Equal(got, []string{no.Error(), ""}) || r.State().Err != nil {
				t.Errorf("%s: %q, %v", r.Identity, got, r.State().Err)
			}
		}
	})
}

// TestElectionGone: a Lease that is gone, with its namespace, and can't be made is one thing that is wrong.
func TestElectionGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := startReplica(t, s, "a")
		awaits(t, "a leads", func() bool { return a.State().Term != nil })
		no := apierrors.NewForbidden(leaseResource, "feed", errors.New("no"))
		a.client.denies(no)
		s.mu.Lock()
		s.lease = nil
		s.mu.Unlock()
		time.Sleep(time.Minute)
		if got := a.failures(); !slices.Equal(got, []string{no.Error()}) || !a.State().Unconfirmed {
			t.Errorf("%q, %+v", got, a.State())
		}
		a.client.denies(nil)
		awaits(t, "a leads again", func() bool { return a.State().Term != nil && !a.State().Unconfirmed })
	})
}

// takenAway is what somebody does to a Lease.
var takenAway = map[string]func(*server){
	"deleted": func(s *server) { s.lease = nil },
	"emptied": func(s *server) {
		s.writes++
		s.lease.Spec.HolderIdentity, s.lease.ResourceVersion = new(""), strconv.Itoa(s.writes)
	},
}

// TestElectionTakenAway: a Lease that somebody deletes, or empties, while a replica holds it is not another one's before that knows.
func TestElectionTakenAway(t *testing.T) {
	for name, change := range takenAway {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				a := startReplica(t, s, "a")
				awaits(t, "a leads", func() bool { return a.State().Term != nil })
				b := startReplica(t, s, "b")
				awaits(t, "b stands by", func() bool { return b.State().OtherHolder == "a" })
				time.Sleep(5 * time.Second)
				first := a.State().Term
				a.client.is(errors.New("away"), false)
				s.mu.Lock()
				change(s)
				s.mu.Unlock()
				awaits(t, "b leads", func() bool { return b.State().Term != nil })
				if may(first) {
					t.Error("two lead")
				}
				a.client.is(nil, false)
				awaits(t, "a finds out", func() bool { return a.State().OtherHolder == "b" })
			})
		})
	}
}

// TestElectionTakenBack: a Lease that somebody deletes, or empties, is its holder's, also if that has it of another one.
func TestElectionTakenBack(t *testing.T) {
	for name, change := range takenAway {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				former := startReplica(t, s, "former")
				awaits(t, "the former one leads", func() bool { return former.State().Term != nil })
				a := startReplica(t, s, "a")
				awaits(t, "a stands by", func() bool { return a.State().OtherHolder == "former" })
				former.client.is(errors.New("away"), false)
				awaits(t, "a leads", func() bool { return a.State().Term != nil })
				former.client.is(nil, false)
				awaits(t, "the former one stands by", func() bool { return former.State().OtherHolder == "a" })
				time.Sleep(time.Minute)
				first := a.State().Term
				s.mu.Lock()
				change(s)
				s.mu.Unlock()
				took := awaits(t, "a leads anew", func() bool { return a.State().Term != nil && a.State().Term != first })
				if took > 2*every {
					t.Errorf("it took %v", took)
				}
				time.Sleep(time.Minute)
				if former.State().Term != nil || a.State().Unconfirmed {
					t.Errorf("%+v, %+v", a.State(), former.State())
				}
			})
		})
	}
}

// TestElectionTime: who was asked at a time at which a Term was in doubt learns that it is not any more.
func TestElectionTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startReplica(t, &server{}, "a")
		awaits(t, "a leads", func() bool { return a.State().Term != nil })
		<-a.Changed()
		a.Election.mu.Lock()
		a.term.until = time.Now() // as a clock does that is set
		a.Election.mu.Unlock()
		if !a.State().Unconfirmed {
			t.Fatal("it is held")
		}
		select {
		case <-a.Changed():
		case <-time.After(time.Minute):
			t.Fatal("nobody is told")
		}
		awaits(t, "a goes on", func() bool { return !a.State().Unconfirmed })
	})
}

// TestElectionSlept: what is under way ends when the time is over, and not by the next write alone: a machine may have slept meanwhile,
// and no timer with it.
func TestElectionSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startReplica(t, &server{}, "a")
		awaits(t, "a leads", func() bool { return a.State().Term != nil })
		under, end, err := a.State().Term.HeldContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		a.Election.mu.Lock()
		a.term.until = time.Now()
		a.Election.mu.Unlock()
		if took := awaits(t, "it is ended", func() bool { return under.Err() != nil }); took >= every {
			t.Errorf("it was ended after %v", took)
		}
		awaits(t, "a goes on", func() bool { return !a.State().Unconfirmed })
	})
}
