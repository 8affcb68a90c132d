package cli

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/output"
)

// atCluster is this console for one of several clusters: it says of which.
func (c *console) atCluster(name string) *console {
	own := *c
	own.stderr, own.reports = ofCluster(c.stderr, name), ofCluster(c.reports, name)
	return &own
}

// ofRule is this console for one of several rules: it says of which.
func (c *console) ofRule(name string) *console {
	own := *c
	own.stderr, own.reports = saidOfRule(c.stderr, name), saidOfRule(c.reports, name)
	return &own
}

// ofRules is this console for what is said of one of several rules, or of more, as name says: empty.
func (c *console) ofRules() (own *console, name func(rule string)) {
	own = c.ofRule("")
	return own, func(rule string) {
		for _, to := range []io.Writer{own.stderr, own.reports} {
			if v, is := to.(*lineWriter); is {
				v.isOf(rule)
			}
		}
	}
}

// saidOfRule is a writer of whole lines which says that they are of a rule.
func saidOfRule(to io.Writer, name string) io.Writer {
	if w, is := to.(*lineWriter); is {
		return w.ofRule(name)
	}
	return to
}

// ofCluster is a writer of whole lines which says that they are of one of several clusters.
func ofCluster(to io.Writer, name string) io.Writer {
	switch w := to.(type) {
	case *lineWriter:
		return w.of(output.EscapeLine(name))
	case *diverted:
		return prefixed{w, output.EscapeLine(name)}
	}
	return to
}

// prefixed writes each line behind the name of a cluster.
type prefixed struct {
	w    io.Writer
	name string
}

// Write implements io.Writer, for whole lines.
func (p prefixed) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.name+": "), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// differ reports whether the namespaces of the contexts do.
func differ(members []cluster.KubeContext) bool {
	return slices.ContainsFunc(members, func(m cluster.KubeContext) bool { return m.Namespace != members[0].Namespace })
}

// saySame says which contexts lead to the same.
func (c *console) saySame(m cluster.KubeContext) {
	if len(m.Aliases) > 0 {
		c.say("the same cluster and user as " + output.EscapeLine(strings.Join(m.Aliases, ", ")) + ": it is asked once")
	}
}

// identities are clusters by the UID of what identifies them.
type identities struct {
	mu    sync.Mutex
	names map[string]string
}

// also returns by which other name a cluster is known; empty if by none, or if it can't be known.
func (i *identities) also(ctx context.Context, name string, k *cluster.Cluster) string {
	uid, err := k.Identity(ctx)
	if err != nil || uid == "" {
		return ""
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch other := i.names[uid]; {
	case other != "" && other != name:
		return other
	case i.names == nil:
		i.names = map[string]string{}
	}
	i.names[uid] = name
	return ""
}

// sayWhile asks meanwhile which cluster it is, and says of one that is another one, too. The func that it
// returns waits for that.
func (i *identities) sayWhile(ctx context.Context, c *console, k *cluster.Cluster) (wait func()) {
	var asked sync.WaitGroup
	asked.Go(func() {
		if other := i.also(ctx, k.Context, k); other != "" {
			c.warn("this is the same cluster as " + output.EscapeLine(other) + ": what is there is listed twice")
		}
	})
	return asked.Wait
}

// forget lets go of a name.
func (i *identities) forget(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.names, func(_, known string) bool { return known == name })
}

// outcome is what came of the work at one of several clusters.
type outcome[T any] struct {
	cluster string
	is      T
	err     error
	late    bool // err is that the time had passed
}

// atEach does work at each of several clusters, at once, and returns what came of it, in the order of
// the clusters.
func atEach[T any](ctx context.Context, c *console, members []cluster.KubeContext, work func(context.Context, *console, *cluster.Cluster) (T, error)) []outcome[T] {
	all := make([]outcome[T], len(members))
	var working sync.WaitGroup
	for i, m := range members {
		working.Go(func() {
			o, own := &all[i], c.atCluster(m.Name)
			o.cluster = m.Name
			own.saySame(m)
			k, err := m.Flags.Connect(own.connection())
			if err == nil {
				o.is, err = work(ctx, own, k)
			}
			o.err, o.late = err, err != nil && errors.Is(context.Cause(ctx), errTimeout)
		})
	}
	working.Wait()
	return all
}

// failures are the errors of those of which there is one, each with the name of its cluster. Where there
// is no answer at all, they say what is wrong; else that something is missing.
func failures[T any](all []outcome[T]) error {
	var errs []error
	for _, o := range all {
		switch {
		case o.err == nil:
		case o.late:
			errs = append(errs, errors.New(output.EscapeLine(o.cluster)+": --timeout passed before it had answered"))
		default:
			errs = append(errs, errorOf(o.cluster, o.err))
		}
	}
	if err := errors.Join(errs...); len(errs) > 0 && len(errs) < len(all) {
		return fail.WithExitCode(fail.ExitFailed, err)
	}
	return errors.Join(errs...)
}
