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

// server is a fake API server with one Lease. It refuses writes with an outdated resource version. TestLease* in
// testdata/program use the real API server.
type server struct {
	mu     sync.Mutex
	lease  *coordinationv1.Lease
	writes int
}

// client is one replica's connection to the server. Its faults can be set.
type client struct {
	coordinationv1client.LeaseInterface
	to *server

	mu   sync.Mutex
	away error // result of all requests, unless nil
	lost bool  // writes succeed, but their answers are lost
	deny error // result of writes, unless nil
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

// replica is a running Election.
type replica struct {
	*Election
	client *client
	stop   func() // ends Run, which releases the Lease

	mu     sync.Mutex
	failed []string // arguments of OnError; an empty text stands for nil
}

func (r *replica) recordFailure(err error) {
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
	r.Election = New(Options{Client: c, Namespace: "ns", Name: "feed", Identity: name, OnError: r.recordFailure})
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

// mayBegin reports whether an operation may begin in a Term now.
func mayBegin(t *Term) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, end, err := t.HeldContext(ctx)
	if err == nil {
		end()
	}
	return err == nil
}

// await waits until a condition is true, and returns how long that took.
func await(t *testing.T, what string, is func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for synctest.Wait(); !is(); synctest.Wait() {
		if time.Since(begun) > time.Minute {
			t.Fatalf("timed out waiting until %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begun)
}

// TestElection checks that a replica that can't write stops before another one begins, that its Term ends when it finds out,
// and that a replica that ends releases the Lease.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := startReplica(t, s, "a")
		await(t, "a leads", func() bool { return a.State().Term != nil })
		b := startReplica(t, s, "b")
		await(t, "b stands by", func() bool { return b.State().OtherHolder == "a" })
		time.Sleep(time.Minute)
		first := a.State().Term
		if s := a.State(); s.Unconfirmed || !mayBegin(first) || b.State().Term != nil {
			t.Fatalf("after a minute: a is %+v, b is %+v, want only a to lead", s, b.State())
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
		stops := await(t, "a is unconfirmed", func() bool { return a.State().Unconfirmed })
		if mayBegin(first) || under.Err() == nil || a.State().Term != first || b.State().Term != nil {
			t.Errorf("unconfirmed: a is %+v, context: %v, b is %+v", a.State(), under.Err(), b.State())
		}
		if synctest.Wait(); ended.Load() != 1 || other.Load() != 0 {
			t.Errorf("OnExpire called the registered function %d times, want 1, and the stopped one %d times, want 0", ended.Load(), other.Load())
		}
		takes := await(t, "b leads", func() bool { return b.State().Term != nil })
		if stops > RenewDeadline || takes < Duration-RenewDeadline-20*time.Millisecond || stops+takes > Duration+5*time.Second {
			t.Errorf("a stopped after %v, b began %v later", stops, takes)
		}
		second := b.State().Term
		if second.Number != first.Number+1 || second.LeaseUID != first.LeaseUID {
			t.Errorf("the second Term is %+v, the first was %+v", second, first)
		}
		a.client.is(nil, false)
		await(t, "a finds out", func() bool { return a.State().Term == nil && a.State().OtherHolder == "b" })
		if _, _, err := first.HeldContext(t.Context()); !errors.Is(err, ErrLeadershipLost) {
			t.Errorf("got error %v, want %v", err, ErrLeadershipLost)
		}

		b.stop()
		if took := await(t, "a leads again", func() bool { return a.State().Term != nil }); took > 3*time.Second {
			t.Errorf("a began after %v, want at most 3s", took)
		}
		if third := a.State().Term; third.Number != second.Number+1 || mayBegin(second) || !mayBegin(third) {
			t.Errorf("the third Term is %+v, the second was %+v", third, second)
		}
	})
}

// TestElectionAlone checks that a Term continues after an outage in which no other replica took the Lease, and after the
// answers to its own writes were lost.
func TestElectionAlone(t *testing.T) {
	for name, lost := range map[string]bool{"away": false, "answers lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startReplica(t, &server{}, "a")
				await(t, "a leads", func() bool { return a.State().Term != nil })
				term := a.State().Term
				if lost {
					a.client.is(nil, true)
				} else {
					a.client.is(errors.New("away"), false)
				}
				await(t, "a is unconfirmed", func() bool { return a.State().Unconfirmed })
				waits := make(chan error)
				go func() {
					_, _, err := term.HeldContext(t.Context())
					waits <- err
				}()
				time.Sleep(time.Minute)
				a.client.is(nil, false)
				if err := <-waits; err != nil || a.State().Term != term || a.State().Unconfirmed {
					t.Errorf("got error %v, state %+v, want the same Term confirmed", err, a.State())
				}
			})
		})
	}
}

// TestElectionTaken checks that a Term ends when another client has written the Lease, even if it names no holder.
func TestElectionTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := startReplica(t, s, "a")
		await(t, "a leads", func() bool { return a.State().Term != nil })
		first := a.State().Term
		s.mu.Lock()
		s.lease.Spec.HolderIdentity = nil
		s.writes++
		s.lease.ResourceVersion = strconv.Itoa(s.writes)
		s.mu.Unlock()
		await(t, "a leads again", func() bool { return a.State().Term != nil && a.State().Term != first })
		if mayBegin(first) {
			t.Error("the first Term continues")
		}
	})
}

// TestElectionDenied checks that OnError is called once when writes are refused, and once when they work again.
func TestElectionDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a, b := startReplica(t, s, "a"), (*replica)(nil)
		await(t, "a leads", func() bool { return a.State().Term != nil })
		b = startReplica(t, s, "b")
		await(t, "b stands by", func() bool { return b.State().OtherHolder == "a" })
		no := apierrors.NewForbidden(leaseResource, "feed", errors.New("no"))
		a.client.denies(no)
		b.client.denies(no)
		time.Sleep(time.Minute)
		for _, r := range []*replica{a, b} {
			if got := r.failures(); !slices.Equal(got, []string{no.Error()}) {
				t.Errorf("%s: got errors %q, want one", r.Identity, got)
			}
		}
		a.client.denies(nil)
		await(t, "a is confirmed again", func() bool { return !a.State().Unconfirmed })
		time.Sleep(time.Minute)
		for _, r := range []*replica{a, b} {
			if got := r.failures(); !slices.Equal(got, []string{no.Error(), ""}) || r.State().Err != nil {
				t.Errorf("%s: got errors %q, state error %v, want one error that ended", r.Identity, got, r.State().Err)
			}
		}
	})
}

// TestElectionGone checks that OnError is called once if the Lease was deleted and can't be created.
func TestElectionGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := startReplica(t, s, "a")
		await(t, "a leads", func() bool { return a.State().Term != nil })
		no := apierrors.NewForbidden(leaseResource, "feed", errors.New("no"))
		a.client.denies(no)
		s.mu.Lock()
		s.lease = nil
		s.mu.Unlock()
		time.Sleep(time.Minute)
		if got := a.failures(); !slices.Equal(got, []string{no.Error()}) || !a.State().Unconfirmed {
			t.Errorf("got errors %q, state %+v, want one error and an unconfirmed Term", got, a.State())
		}
		a.client.denies(nil)
		await(t, "a leads again", func() bool { return a.State().Term != nil && !a.State().Unconfirmed })
	})
}

// removals are ways in which a user takes the Lease away from its holder.
var removals = map[string]func(*server){
	"deleted": func(s *server) { s.lease = nil },
	"emptied": func(s *server) {
		s.writes++
		s.lease.Spec.HolderIdentity, s.lease.ResourceVersion = new(""), strconv.Itoa(s.writes)
	},
}

// TestElectionTakenAway checks that no other replica takes a deleted or cleared Lease before its holder must have stopped.
func TestElectionTakenAway(t *testing.T) {
	for name, change := range removals {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				a := startReplica(t, s, "a")
				await(t, "a leads", func() bool { return a.State().Term != nil })
				b := startReplica(t, s, "b")
				await(t, "b stands by", func() bool { return b.State().OtherHolder == "a" })
				time.Sleep(5 * time.Second)
				first := a.State().Term
				a.client.is(errors.New("away"), false)
				s.mu.Lock()
				change(s)
				s.mu.Unlock()
				await(t, "b leads", func() bool { return b.State().Term != nil })
				if mayBegin(first) {
					t.Error("two replicas lead")
				}
				a.client.is(nil, false)
				await(t, "a finds out", func() bool { return a.State().OtherHolder == "b" })
			})
		})
	}
}

// TestElectionTakenBack checks that the holder takes a deleted or cleared Lease back at once, even if it had taken it from
// another replica before.
func TestElectionTakenBack(t *testing.T) {
	for name, change := range removals {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				former := startReplica(t, s, "former")
				await(t, "the former holder leads", func() bool { return former.State().Term != nil })
				a := startReplica(t, s, "a")
				await(t, "a stands by", func() bool { return a.State().OtherHolder == "former" })
				former.client.is(errors.New("away"), false)
				await(t, "a leads", func() bool { return a.State().Term != nil })
				former.client.is(nil, false)
				await(t, "the former holder stands by", func() bool { return former.State().OtherHolder == "a" })
				time.Sleep(time.Minute)
				first := a.State().Term
				s.mu.Lock()
				change(s)
				s.mu.Unlock()
				took := await(t, "a leads again", func() bool { return a.State().Term != nil && a.State().Term != first })
				if took > 2*retryPeriod {
					t.Errorf("a led again after %v, want at most %v", took, 2*retryPeriod)
				}
				time.Sleep(time.Minute)
				if former.State().Term != nil || a.State().Unconfirmed {
					t.Errorf("a is %+v, the former holder is %+v, want only a to lead", a.State(), former.State())
				}
			})
		})
	}
}

// TestElectionTime checks that a caller that has seen an unconfirmed State gets a signal when the Term is confirmed.
func TestElectionTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startReplica(t, &server{}, "a")
		await(t, "a leads", func() bool { return a.State().Term != nil })
		<-a.Changed()
		a.Election.mu.Lock()
		a.term.until = time.Now() // the effect of setting the wall clock
		a.Election.mu.Unlock()
		if !a.State().Unconfirmed {
			t.Fatal("an expired Term is not unconfirmed")
		}
		select {
		case <-a.Changed():
		case <-time.After(time.Minute):
			t.Fatal("no signal after the Lease was renewed")
		}
		await(t, "a is confirmed again", func() bool { return !a.State().Unconfirmed })
	})
}

// TestElectionSlept checks that operations are canceled soon after the Lease has expired, without waiting for the next write,
// even if no timer ran because the machine slept.
func TestElectionSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startReplica(t, &server{}, "a")
		await(t, "a leads", func() bool { return a.State().Term != nil })
		under, end, err := a.State().Term.HeldContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		a.Election.mu.Lock()
		a.term.until = time.Now()
		a.Election.mu.Unlock()
		if took := await(t, "the context is canceled", func() bool { return under.Err() != nil }); took >= retryPeriod {
			t.Errorf("the context was canceled after %v, want less than %v", took, retryPeriod)
		}
		await(t, "a is confirmed again", func() bool { return !a.State().Unconfirmed })
	})
}
