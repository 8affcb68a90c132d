package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

// ClusterResult is the result of a function that AtEachCluster has called for one cluster.
type ClusterResult[T any] struct {
	Cluster string
	Value   T
	Err     error
	late    bool // Err came after --timeout
}

// AtEachCluster connects to clusters and calls work for each, all at once. The results are in the order of contexts.
func AtEachCluster[T any](ctx context.Context, c *console.Console, contexts []cluster.KubeContext, work func(context.Context, *console.Console, *cluster.Cluster) (T, error)) []ClusterResult[T] {
	all := make([]ClusterResult[T], len(contexts))
	var working sync.WaitGroup
	for i, m := range contexts {
		working.Go(func() {
			o, own := &all[i], c.ForCluster(m.Name)
			o.Cluster = m.Name
			sayAliases(own, m)
			k, err := m.Flags.Connect(own.Connection())
			if err == nil {
				o.Value, err = work(ctx, own, k)
			}
			o.Err, o.late = err, err != nil && errors.Is(context.Cause(ctx), ErrTimeout)
		})
	}
	working.Wait()
	return all
}

// sayAliases names the contexts that dwatch skips because they lead to the same cluster as the same user.
func sayAliases(c *console.Console, m cluster.KubeContext) {
	if len(m.Aliases) > 0 {
		c.Say("skipping " + output.EscapeLine(strings.Join(m.Aliases, ", ")) + ": same cluster and user")
	}
}

// HaveDifferentNamespaces reports whether the contexts do not all have the same namespace.
func HaveDifferentNamespaces(contexts []cluster.KubeContext) bool {
	return slices.ContainsFunc(contexts, func(m cluster.KubeContext) bool { return m.Namespace != contexts[0].Namespace })
}

// TolerateMissingResource turns the error of a cluster that lacks the resource into a message, if another cluster has answered. It
// reports whether one has. A cluster with unreadable objects has answered, because its other objects are known.
func TolerateMissingResource[T any](c *console.Console, all []ClusterResult[T]) bool {
	answered := slices.ContainsFunc(all, func(o ClusterResult[T]) bool { return o.Err == nil || watcher.IsOnlyUnreadable(o.Err) })
	for i := range all {
		if o := &all[i]; answered && mapper.IsUnknown(o.Err) {
			c.ForCluster(o.Cluster).Say(strings.Join(fail.Explain(o.Err), "; "))
			o.Err = nil
		}
	}
	return answered
}

// ErrorsOf joins the errors of all clusters, each with the name of its cluster. If some clusters have no error, the exit code is
// fail.ExitFailed whatever the errors are, because the output is incomplete. Otherwise the errors decide.
func ErrorsOf[T any](all []ClusterResult[T]) error {
	var errs []error
	for _, o := range all {
		switch {
		case o.Err == nil:
		case o.late:
			errs = append(errs, errors.New(output.EscapeLine(o.Cluster)+": --timeout passed before it had answered"))
		default:
			errs = append(errs, PrefixError(o.Cluster, o.Err))
		}
	}
	if err := errors.Join(errs...); len(errs) > 0 && len(errs) < len(all) {
		return fail.WithExitCode(fail.ExitFailed, err)
	}
	return errors.Join(errs...)
}

// PrefixError puts a name before each line of an error as people read it. The exit code stays.
func PrefixError(name string, err error) error {
	code := fail.ExitCode(err)
	var lines []error
	for _, text := range fail.Explain(err) {
		line := errors.New(name + ": " + text)
		switch code {
		case fail.ExitUsage:
			line = fail.Usage(line)
		case fail.ExitIncomplete:
			line = fail.WithExitCode(code, line)
		}
		lines = append(lines, line)
	}
	return errors.Join(lines...)
}

// ClusterUIDs finds contexts that lead to the same cluster, and may watch the same objects there. The zero value is ready.
type ClusterUIDs struct {
	mu       sync.Mutex
	contexts []identifiedContext
}

// identifiedContext is a context and the UID of its cluster.
type identifiedContext struct {
	name, uid string
	scope     watchScope
}

// watchScope contains the namespaces and targets that one context watches.
type watchScope struct {
	namespaces []string
	selects    bool // by patterns or labels, so that namespaces may come to match later
	targets    []event.Key
}

func newWatchScope(s *Session) watchScope {
	w := watchScope{namespaces: s.Request.WatchedNamespaces(), selects: s.Request.SelectsNamespaces()}
	for _, t := range s.Plan.Targets {
		w.targets = append(w.targets, t.Key())
	}
	return w
}

// overlaps reports whether an object of the cluster may be in both scopes, now or later. Both are of the same command line, so that
// only the namespaces of their contexts differ.
func (w watchScope) overlaps(o watchScope) bool {
	if w.selects || o.selects || slices.ContainsFunc(w.namespaces, func(n string) bool { return slices.Contains(o.namespaces, n) }) {
		return true
	}
	return slices.ContainsFunc(w.targets, func(k event.Key) bool { return slices.ContainsFunc(o.targets, k.Overlaps) })
}

// add returns another context that leads to the cluster and may watch the same objects, or "".
func (u *ClusterUIDs) add(name, uid string, scope watchScope) (other string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.removeLocked(name)
	for _, c := range u.contexts {
		if c.uid == uid && c.scope.overlaps(scope) {
			other = c.name
			break
		}
	}
	u.contexts = append(u.contexts, identifiedContext{name, uid, scope})
	return other
}

// identify asks k for its UID, and returns what add returns. If the UID is unknown, it returns "".
func (u *ClusterUIDs) identify(ctx context.Context, name string, k *cluster.Cluster, scope watchScope) string {
	uid, err := k.Identity(ctx)
	if err != nil || uid == "" {
		return ""
	}
	return u.add(name, uid, scope)
}

// WarnIfSame asks the cluster of s for its UID in the background, and warns if another context may list the same objects. wait waits
// for that.
func (u *ClusterUIDs) WarnIfSame(ctx context.Context, s *Session) (wait func()) {
	scope := newWatchScope(s)
	var asked sync.WaitGroup
	asked.Go(func() {
		if other := u.identify(ctx, s.Cluster.Context, s.Cluster, scope); other != "" {
			s.Console.Warn(describeSameCluster(other, "objects may be listed twice"))
		}
	})
	return asked.Wait
}

// describeSameCluster says that another context leads to the same cluster, and with which effect.
func describeSameCluster(other, effect string) string {
	return fmt.Sprintf("same cluster as %s: %s; leave out one of the two contexts", output.EscapeLine(other), effect)
}

func (u *ClusterUIDs) remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.removeLocked(name)
}

// removeLocked requires u.mu to be held.
func (u *ClusterUIDs) removeLocked(name string) {
	u.contexts = slices.DeleteFunc(u.contexts, func(c identifiedContext) bool { return c.name == name })
}
