package run

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/output/text"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/resume"
)

// shardNote says which shard is watched, and who leaves out the other objects. It is empty without --shard.
func shardNote(ctx context.Context, s *Session) string {
	shard := s.Request.Shard
	switch {
	case shard.IsAll():
		return ""
	case shard.IsSurplus():
		return ", shard " + shard.String() + ", which has no objects"
	}
	text := ", shard " + shard.String()
	if s.Console.IsQuiet() {
		return text
	}
	switch can, err := s.Cluster.SupportsShardSelector(ctx, shardTestPath(s.Plan.Targets), shard.Selector()); {
	case err != nil:
		return text
	case can:
		return text + ", as the server selects it"
	}
	return text + "; the server knows no shards and sends all"
}

// shardTestPath is the path of a list by which a server shows whether it selects shards. It is a list of a built-in resource or of namespaces.
func shardTestPath(targets []event.Target) string {
	for _, t := range targets {
		r := t.Resource()
		if strings.Contains(r.Group, ".") {
			continue
		}
		at := path.Join("/apis", r.Group, r.Version)
		if r.Group == "" {
			at = path.Join("/api", r.Version)
		}
		if t.Namespace != "" {
			at = path.Join(at, "namespaces", t.Namespace)
		}
		return path.Join(at, r.Resource)
	}
	return "/api/v1/namespaces"
}

const (
	handoverSoon  = 15 * time.Second // how long shards take to run that are started together
	handoverWait  = 10 * time.Minute // how long they may take when their number has changed
	handoverRetry = 5 * time.Second  // after which a server is asked again that did not answer
)

// newHandover returns a Sink before next that finds out what became of objects in the state file that belong to other shards now.
func (r *Run) newHandover(next event.Sink) (event.Sink, error) {
	h, err := resume.NewHandover(r.state.file, next)
	if h == nil {
		return next, err
	}
	h.LookupDelays = []time.Duration{handoverSoon, handoverWait - handoverSoon}
	h.ListIdentities, h.RetryInterval = listAllShards(r.session), handoverRetry
	r.state.handover = h
	return h, nil
}

// startHandover runs the handover while the watch runs. finish ends it and returns why it failed, if so: fail was called then.
func (r *Run) startHandover(ctx context.Context, failed context.CancelCauseFunc) (finish func() error) {
	if r.state == nil || r.state.handover == nil {
		return func() error { return nil }
	}
	h, say := r.state.handover, r.scope.Console.Say
	ctx, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() {
		n := h.ObjectCount()
		if n > 0 {
			say(output.EscapeLine(r.state.path) + " has " + text.Count(n, "object") + " of other shards: dwatch reports their deletions, and forgets the others in " + handoverWait.String() + ", when all shards should run")
		}
		err := h.Run(ctx)
		switch {
		case err != nil:
			err = LossError{err} // like an error of the watch: the events that it got are lost
			failed(err)
		case n > 0 && ctx.Err() == nil:
			say(fmt.Sprintf("%s has nothing of other shards any more: of %d objects %d were deleted", output.EscapeLine(r.state.path), n, h.DeletedCount()))
		}
		over <- err
	}()
	return func() error {
		stop()
		return <-over
	}
}

// listAllShards returns a function that lists the objects of a target in all shards. It warns once for each target that cannot be listed.
func listAllShards(s *Session) func(context.Context, event.Target) ([]*event.Identity, error) {
	warned := map[event.Key]bool{}
	return func(ctx context.Context, t event.Target) ([]*event.Identity, error) {
		o := s.WatchOptions()
		o.Shard = event.Shard{}
		all, err := watcher.New(o)
		if err != nil {
			return nil, err
		}
		objects, err := all.ListIdentities(ctx, t)
		if err != nil && !warned[t.Key()] && ctx.Err() == nil {
			s.Console.Warn("can't list " + report.DescribeTargets([]event.Target{t}) + " to find out which objects of other shards still exist, trying again: " + fail.ExplainDisconnect(err))
			warned[t.Key()] = true
		}
		return objects, err
	}
}
