package cli

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
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/output"
	"dwatch/watcher/source"
)

// leased is a run of which several may be started with the same Lease: the one that holds it leads, and the others stand by. They
// watch the same, so that it is known that they can.
type leased struct {
	replica
	of         runner // it, as it is without others
	lease      flags.Lease
	connection *cluster.Flags
	listen     string
	keeps      bool // in a file, what is not delivered
	measured   *metrics.Replica

	// From when a cluster has answered on.
	console  *console
	cluster  *cluster.Cluster
	election *lease.Election
	hasRun   bool   // something of it; written while nothing runs
	said     string // of the Lease
	failing  string // what was said of its failures; of the goroutine of the election
	doubted  bool   // whether it is held, at last
}

// errNotLeading ends what runs in a Term that is over, or in doubt; and errLeads what stands by.
var (
	errNotLeading = errors.New("another dwatch leads")
	errLeads      = errors.New("it leads")
)

// isLost reports whether a run has ended since its replica may not lead any more.
func isLost(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errNotLeading) }

func (l *leased) goesOn() bool { return true }

func (l *leased) wants() []wanted {
	all := l.replica.wants()
	all[0].lease = l.lease
	return all
}

func (l *leased) run(ctx context.Context, c *console) error {
	if l.connection.HasMultipleContexts() {
		return fail.Usage(fmt.Errorf("--lease is in one cluster: %w", cluster.ErrMultipleContexts))
	}
	if err := l.check(c.silent()); err != nil { // when it leads it is too late to say it
		return err
	}
	defer l.whenAskedAgain(c)()
	server, err := c.listen(l.listen, func() (*metrics.Server, error) {
		l.measured = new(metrics.Replica)
		return metrics.ListenReplica(l.listen, orDevel(release), l.measured)
	})
	if err != nil {
		return err
	}
	defer server.Close()
	return c.at(ctx, l.connection, 0, false, func(ctx context.Context, k *cluster.Cluster) error {
		return l.atCluster(ctx, c, k)
	})
}

// atCluster takes part until ctx ends. The Lease is given back when nothing is delivered any more.
func (l *leased) atCluster(ctx context.Context, c *console, k *cluster.Cluster) (err error) {
	if err := k.Login(ctx); err != nil {
		return fail.FromServer(k.Host, err)
	}
	apart, err := k.NewSeparateClient()
	if err != nil {
		return err
	}
	client, err := coordinationv1client.NewForConfigAndClient(k.QuietConfig(), apart)
	if err != nil {
		return err
	}
	if l.lease.Namespace == "" {
		l.lease.Namespace = k.Namespace
	}
	l.console, l.cluster = c, k
	l.election = lease.New(lease.Options{
		Client: client, Namespace: l.lease.Namespace, Name: l.lease.Name, Identity: identity(),
		OnError: l.fails,
	})
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan error, 1)
	go func() { over <- l.election.Run(electing) }()
	defer func() {
		stop()
		if failed := <-over; failed != nil {
			c.say(fmt.Sprintf("%s was not given back: %s; another dwatch waits for it for up to %s", l, oneLine(failed), lease.Duration))
		}
	}()
	return l.follow(ctx)
}

// identity is the name of the pod, or of the machine, and what no other run has.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "dwatch"
	}
	return host + "_" + string(uuid.NewUUID())
}

func oneLine(err error) string { return strings.Join(fail.Explain(err), "; ") }

// fails says why the Lease can't be read or written, once while that is so.
func (l *leased) fails(err error) {
	line := ""
	if err != nil {
		line = l.String() + ": " + oneLine(err) + "; trying again"
	}
	if line != "" && line != l.failing {
		l.console.say(line)
	}
	l.failing = line
}

// String names the Lease.
func (l *leased) String() string { return "lease " + l.lease.Namespace + "/" + l.lease.Name }

// follow leads, and stands by, as the Lease says.
func (l *leased) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		s := l.election.State()
		if !l.hasRun && s.Term == nil && s.OtherHolder == "" { // nobody knows yet
			if s.Err != nil && (!s.HasAnswer || isForGood(s.Err)) {
				return l.refused(s.Err)
			}
			select {
			case <-l.election.Changed():
			case <-ctx.Done():
			}
			continue
		}
		if err := l.runWhile(ctx, l.termOf(s, nil)); err != nil {
			return err
		}
	}
	return nil
}

// isForGood reports whether the server says why it can't be done, and will say so again.
func isForGood(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err)
}

// refused is an error before it was ever known who leads.
func (l *leased) refused(err error) error {
	if apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fmt.Errorf("--lease: %w; dwatch rbac prints a role with what it takes", err)
	}
	if isForGood(err) {
		return fmt.Errorf("--lease: %w", err)
	}
	return fail.FromServer(l.cluster.Host, err)
}

// termOf returns the Term in which to run; nil: stand by. What runs in a Term that is in doubt goes on, and waits, if there is no file
// that another one may wait for.
func (l *leased) termOf(s lease.State, running *lease.Term) *lease.Term {
	if s.Term == nil || s.Unconfirmed && (l.keeps || s.Term != running) {
		return nil
	}
	return s.Term
}

// runWhile runs in a Term, or stands by, as long as that is right. An error is one that ends all.
func (l *leased) runWhile(ctx context.Context, term *lease.Term) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.say(l.election.State(), term)
	over := make(chan error, 1)
	go func() { over <- l.runIn(ctx, term) }()
	for {
		select {
		case err := <-over:
			return err
		case <-l.election.Changed():
		}
		s := l.election.State()
		if l.termOf(s, term) == term {
			l.say(s, term)
			continue
		}
		if term == nil {
			cancel(errLeads)
		} else {
			cancel(errNotLeading)
		}
		err := <-over
		l.hasRun = true
		// A machine that has taken who led along may have taken the server, too: a connection to that says nothing for long.
		l.cluster.CloseConnections()
		if cause := context.Cause(ctx); !isLost(ctx) && !errors.Is(cause, errLeads) { // it ends anyway
			return err
		}
		if err != nil {
			for _, line := range fail.Explain(err) {
				l.console.warn(line)
			}
		}
		return nil
	}
}

// say says who leads, when that changes.
func (l *leased) say(s lease.State, term *lease.Term) {
	line := ""
	switch {
	case term != nil && s.Unconfirmed:
		line = fmt.Sprintf("%s could not be written for %s: nothing is delivered until it is known that nobody else holds it", l, lease.RenewDeadline)
	case term != nil && l.doubted:
		line = "leading since " + stamp(term.Since) + " still: nobody else has held " + l.String()
	case term != nil:
		line = "leading since " + stamp(term.Since) + ": " + l.String()
		if !l.keeps {
			line += "; without --state the last states of what is there are told, and no deletions of before"
		}
	case s.OtherHolder != "":
		line = "standing by: " + output.EscapeLine(s.OtherHolder) + " holds " + l.String()
	default:
		line = "standing by: it is not known who holds " + l.String()
	}
	l.doubted = term != nil && s.Unconfirmed
	if line != l.said {
		l.said = line
		l.console.say(line)
	}
}

func stamp(at time.Time) string { return at.Local().Format(time.TimeOnly) }

// runIn runs in a Term, or stands by, until ctx ends. Once something has run, the server may be away.
func (l *leased) runIn(ctx context.Context, term *lease.Term) error {
	var backoff source.Backoff
	for said := ""; ; {
		run, err := l.in(term)
		if err == nil {
			if l.measured != nil {
				run.measure(l.measured)
			}
			err = ended(ctx, run.runAt(ctx, l.console, l.cluster), false)
			l.learn(run)
		}
		if ctx.Err() != nil || err == nil || !l.hasRun || isLoss(err) || fail.ExitCode(err) == fail.ExitUsage {
			return err
		}
		if why := oneLine(err); why != said {
			said = why
			l.console.warn(why + "; trying again")
		}
		if !backoff.Wait(ctx, err) {
			return nil
		}
	}
}
