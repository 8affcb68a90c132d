package run

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
)

// oneLease is a server that has one Lease, which others may take at any time.
type oneLease struct {
	coordinationv1client.LeaseInterface
	mu      sync.Mutex
	version int
	spec    coordinationv1.LeaseSpec
}

func (s *oneLease) Leases(string) coordinationv1client.LeaseInterface { return s }

// setHolder sets the holder. An empty one gives the Lease back.
func (s *oneLease) setHolder(holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, seconds := metav1.NowMicro(), int32(1)
	s.version++
	s.spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}
}

func (s *oneLease) isLocked() *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "feed", UID: "uid", ResourceVersion: strconv.Itoa(s.version)},
		Spec:       *s.spec.DeepCopy(),
	}
}

func (s *oneLease) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isLocked(), nil
}

func (s *oneLease) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.ResourceVersion != strconv.Itoa(s.version) {
		return nil, errors.New("another version")
	}
	s.version++
	s.spec = *l.Spec.DeepCopy()
	return s.isLocked(), nil
}

// TestLostWhileItFails: a leader that retries because the server does not answer stands by when another replica takes the Lease, and
// leads again after that.
func TestLostWhileItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tries := &oneLease{}, make(chan *lease.Term)
		r := &Replica{
			Lease: flags.Lease{Namespace: "ns", Name: "feed"},
			Work: func(ctx context.Context, _ *console.Console, _ *cluster.Cluster, term *lease.Term, _ *metrics.Replica) error {
				select {
				case tries <- term:
				case <-ctx.Done():
				}
				if term != nil {
					return errors.New("the server is away")
				}
				<-ctx.Done()
				return nil
			},
			console: &console.Console{Err: io.Discard, Reports: io.Discard}, cluster: &cluster.Cluster{Host: "server"},
			election: lease.New(lease.Options{Client: s, Namespace: "ns", Name: "feed", Identity: "own"}),
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		s.setHolder("other")
		running.Go(func() { _ = r.election.Run(ctx) })
		running.Go(func() {
			if err := r.follow(ctx); err != nil {
				t.Error(err)
			}
		})
		await := func(leads bool) {
			t.Helper()
			late := time.After(time.Minute)
			for {
				select {
				case term := <-tries:
					if (term != nil) == leads {
						return
					}
				case <-late:
					t.Fatalf("nothing begins as who leads: %t", leads)
				}
			}
		}
		await(false)
		for range 2 {
			s.setHolder("")
			await(true)
			await(true) // it has failed, and is tried again
			s.setHolder("other")
			await(false)
		}
	})
}
