package run

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
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

// ClusterUIDs maps the UID of a cluster to the name of its context, to detect two contexts for one cluster. The zero value is ready.
type ClusterUIDs struct {
	mu    sync.Mutex
	names map[string]string
}

// add returns another context that leads to the cluster, or "".
func (u *ClusterUIDs) add(ctx context.Context, name string, k *cluster.Cluster) string {
	uid, err := k.Identity(ctx)
	if err != nil || uid == "" {
		return ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch other := u.names[uid]; {
	case other != "" && other != name:
		return other
	case u.names == nil:
		u.names = map[string]string{}
	}
	u.names[uid] = name
	return ""
}

// WarnIfSame asks k for its UID in the background, and warns if another context leads to the same cluster. wait waits for that.
func (u *ClusterUIDs) WarnIfSame(ctx context.Context, c *console.Console, k *cluster.Cluster) (wait func()) {
	var asked sync.WaitGroup
	asked.Go(func() {
		if other := u.add(ctx, k.Context, k); other != "" {
			c.Warn("this is the same cluster as " + output.EscapeLine(other) + ": its objects are listed twice")
		}
	})
	return asked.Wait
}

func (u *ClusterUIDs) remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.names, func(_, known string) bool { return known == name })
}
