package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/cli/version"
	"dwatch/output"
	"dwatch/watcher/filter"
	"dwatch/watcher/source"
)

// Replica is one of several processes with the same Lease. The one that holds the Lease leads; the others stand by and
// watch the same objects, to find out early whether they can.
type Replica struct {
	Lease      flags.Lease
	Connection *cluster.Flags
	Listen     string
	// HasState is set if a file keeps what was not delivered.
	HasState bool
	// Check finds out whether the run could deliver, before it leads.
	Check func(*console.Console) error
	// Work runs in a term until ctx ends, or stands by if term is nil. measured is nil without --listen.
	Work func(ctx context.Context, c *console.Console, k *cluster.Cluster, term *lease.Term, measured *metrics.Replica) error

	measured *metrics.Replica
	// The following are set once a cluster has answered.
	console  *console.Console
	cluster  *cluster.Cluster
	election *lease.Election

	leaseReports
	hasRun bool // something has run, so that the server may be away for a while; written while nothing runs
}

// leaseReports are the last messages. Only changes are reported.
type leaseReports struct {
	state    string
	failure  string // belongs to the goroutine of the election
	doubtful bool   // it was not known whether the Lease is held
}

// Causes of contexts: errNotLeading ends what runs in a term that is over or in doubt, errLeads ends what stands by.
var (
	errNotLeading = errors.New("another dwatch leads")
	errLeads      = errors.New("it leads")
)

// HasLostLease reports whether a run has ended because its replica may not lead any more.
func HasLostLease(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errNotLeading) }

// Run takes part in the election until ctx ends.
func (r *Replica) Run(ctx context.Context, c *console.Console) error {
	if r.Connection.HasMultipleContexts() {
		return fail.Usage(fmt.Errorf("--lease is in one cluster: %w", cluster.ErrMultipleContexts))
	}
	if err := r.Check(c.WithoutReports()); err != nil {
		return err
	}
	server, err := Listen(c, r.Listen, func() (*metrics.Server, error) {
		r.measured = new(metrics.Replica)
		return metrics.ListenReplica(r.Listen, version.Release(), r.measured)
	})
	if err != nil {
		return err
	}
	defer server.Close()
	return AtCluster(ctx, c, r.Connection, 0, false, func(ctx context.Context, k *cluster.Cluster) error {
		return r.atCluster(ctx, c, k)
	})
}

// atCluster takes part until ctx ends. It gives the Lease back when nothing is delivered any more.
func (r *Replica) atCluster(ctx context.Context, c *console.Console, k *cluster.Cluster) (err error) {
	if err := k.Login(ctx); err != nil {
		return fail.FromServer(k.Host, err)
	}
	own, err := k.NewSeparateClient()
	if err != nil {
		return err
	}
	client, err := coordinationv1client.NewForConfigAndClient(k.QuietConfig(), own)
	if err != nil {
		return err
	}
	if r.Lease.Namespace == "" {
		r.Lease.Namespace = k.Namespace
	}
	r.console, r.cluster = c, k
	r.election = lease.New(lease.Options{
		Client: client, Namespace: r.Lease.Namespace, Name: r.Lease.Name, Identity: newIdentity(),
		OnError: r.reportFailure,
	})
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan error, 1)
	go func() { over <- r.election.Run(electing) }()
	defer func() {
		stop()
		if failed := <-over; failed != nil {
			c.Say(fmt.Sprintf("%s was not given back: %s; another dwatch waits for it for up to %s", r, oneLine(failed), lease.Duration))
		}
	}()
	return r.follow(ctx)
}

// newIdentity returns the name of the pod or the machine with a suffix that no other process has.
func newIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "dwatch"
	}
	return host + "_" + string(uuid.NewUUID())
}

func oneLine(err error) string { return strings.Join(fail.Explain(err), "; ") }

// reportFailure reports why the Lease cannot be read or written. nil means that it can.
func (r *Replica) reportFailure(err error) {
	line := ""
	if err != nil {
		line = r.String() + ": " + oneLine(err) + "; trying again"
	}
	if line != "" && line != r.failure {
		r.console.Say(line)
	}
	r.failure = line
}

// String names the Lease.
func (r *Replica) String() string { return "lease " + r.Lease.Namespace + "/" + r.Lease.Name }

// follow leads and stands by as the Lease says.
func (r *Replica) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		s := r.election.State()
		if !r.hasRun && s.Term == nil && s.OtherHolder == "" { // the Lease has not been read yet
			if s.Err != nil && (!s.HasAnswer || isPermanent(s.Err)) {
				return r.refused(s.Err)
			}
			select {
			case <-r.election.Changed():
			case <-ctx.Done():
			}
			continue
		}
		if err := r.runWhile(ctx, r.termOf(s, nil)); err != nil {
			return err
		}
	}
	return nil
}

// isPermanent reports whether the server will answer the same again.
func isPermanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err)
}

// refused is the error of a Lease that has not been read or written yet, and cannot be.
func (r *Replica) refused(err error) error {
	if apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fmt.Errorf("--lease: %w; dwatch rbac prints a role that allows it", err)
	}
	if isPermanent(err) {
		return fmt.Errorf("--lease: %w", err)
	}
	return fail.FromServer(r.cluster.Host, err)
}

// termOf returns the term in which to run, or nil to stand by. While it is in doubt whether the Lease is held, the run of the term
// continues without delivering, unless another replica may be waiting for the state file.
func (r *Replica) termOf(s lease.State, running *lease.Term) *lease.Term {
	if s.Term == nil || s.Unconfirmed && (r.HasState || s.Term != running) {
		return nil
	}
	return s.Term
}

// runWhile runs in a term, or stands by, for as long as that is right. It returns an error that ends the replica.
func (r *Replica) runWhile(ctx context.Context, term *lease.Term) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.reportState(r.election.State(), term)
	over := make(chan error, 1)
	go func() { over <- r.retry(ctx, term) }()
	for {
		select {
		case err := <-over:
			return err
		case <-r.election.Changed():
		}
		s := r.election.State()
		if r.termOf(s, term) == term {
			r.reportState(s, term)
			continue
		}
		if term == nil {
			cancel(errLeads)
		} else {
			cancel(errNotLeading)
		}
		err := <-over
		r.hasRun = true
		// If the machine of the former leader is gone, the server may have been on it: its connections would hang.
		r.cluster.CloseConnections()
		if cause := context.Cause(ctx); !HasLostLease(ctx) && !errors.Is(cause, errLeads) { // the replica ends in any case
			return err
		}
		if err != nil {
			for _, line := range fail.Explain(err) {
				r.console.Warn(line)
			}
		}
		return nil
	}
}

// reportState reports who leads, if that has changed.
func (r *Replica) reportState(s lease.State, term *lease.Term) {
	line := ""
	switch {
	case term != nil && s.Unconfirmed:
		line = fmt.Sprintf("%s could not be written for %s: delivery is paused until no other replica can hold it", r, lease.RenewDeadline)
	case term != nil && r.doubtful:
		line = "leading since " + timeOfDay(term.Since) + " still: no other replica has held " + r.String()
	case term != nil:
		line = "leading since " + timeOfDay(term.Since) + ": " + r.String()
		if !r.HasState {
			line += "; without --state, existing objects are sent again and earlier deletions are not reported"
		}
	case s.OtherHolder != "":
		line = "standing by: " + output.EscapeLine(s.OtherHolder) + " holds " + r.String()
	default:
		line = "standing by: no known replica holds " + r.String()
	}
	r.doubtful = term != nil && s.Unconfirmed
	if line != r.state {
		r.state = line
		r.console.Say(line)
	}
}

func timeOfDay(at time.Time) string { return at.Local().Format(time.TimeOnly) }

// retry calls Work until it returns without an error or ctx ends. Once something has run, it also calls Work again after an error,
// except a loss of events and a usage error.
func (r *Replica) retry(ctx context.Context, term *lease.Term) error {
	var backoff source.Backoff
	for reported := ""; ; {
		err := EndOf(ctx, r.Work(ctx, r.console, r.cluster, term, r.measured), false)
		if ctx.Err() != nil || err == nil || !r.hasRun || IsLoss(err) || fail.ExitCode(err) == fail.ExitUsage {
			return err
		}
		if why := oneLine(err); why != reported {
			reported = why
			r.console.Warn(why + "; trying again")
		}
		if !backoff.Wait(ctx, err) {
			return nil
		}
	}
}

// StandBy returns the configuration of a replica that stands by: it watches the same, and keeps nothing.
func StandBy(cfg Config) Config {
	cfg.StateFile, cfg.Settle, cfg.Where, cfg.Filter = "", flags.Settle{}, nil, filter.Options{}
	return cfg
}
