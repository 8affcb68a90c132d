package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/resume"
)

// notWithShard are flags of what shards tear apart, and why.
var notWithShard = []struct{ name, why string }{
	{"for", "follows what belongs to one object, which is in all shards"},
	{"settle", "waits for what an object owns, too, which is in other shards"},
	{"since", ofMemory},
	{"before", ofMemory},
	{"until", "waits for objects that may be in other shards"},
	{"until-for", "waits for objects that may be in other shards"},
	{"lease", "lets one of several work, and all shards do"},
}

// ofMemory is why a shard has not what the flags ask for that ask a recording otherwise.
const ofMemory = "asks what the cluster remembers of objects, which is in other shards, too"

// checkBesideShard finds flags that are not to be had of a shard.
func (c *common) checkBesideShard() error {
	for _, no := range notWithShard {
		if c.all.Changed("shard") && c.all.Changed(no.name) && !(no.why == ofMemory && c.all.Changed("from")) {
			return fmt.Errorf("--%s %s: it does not go with --shard", no.name, no.why)
		}
	}
	return nil
}

// checkShard finds what is not to be had of a shard.
func (c *common) checkShard(arguments []mapper.Argument) error {
	if !c.all.Changed("shard") {
		return nil
	}
	if err := c.checkBesideShard(); err != nil {
		return err
	}
	for _, a := range arguments {
		if a.Name != "" {
			return fmt.Errorf("--shard is of all objects that there are, and %s is one, which may be in another shard: leave one of the two out", output.EscapeLine(a.String()))
		}
	}
	if c.connection.HasMultipleContexts() {
		return errors.New("--shard is of one cluster: it does not go with several, each of which may have shards of its own")
	}
	return nil
}

// findShard finds out which shard it is, where the host says that.
func (s *selection) findShard() error {
	if s.request.Shard.Number > 0 || s.request.Shard.Count == 0 {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fail.Usage(fmt.Errorf("--shard %s/%d: %w", flags.AutoShard, s.request.Shard.Count, err))
	}
	ordinal, is := flags.PodOrdinal(host)
	if !is {
		return fail.Usage(fmt.Errorf("--shard %s/%d takes the number at the end of the host's name, as pods of a StatefulSet have it, and this is %s: say which one it is, --shard 1/%[2]d", flags.AutoShard, s.request.Shard.Count, output.EscapeLine(host)))
	}
	s.request.Shard.Number = ordinal + 1
	return nil
}

// sharding says which shard is watched, and who leaves out the rest; empty if it is all.
func sharding(ctx context.Context, s *session) string {
	shard := s.scope.Shard
	switch {
	case shard.IsAll():
		return ""
	case shard.IsSurplus():
		return ", shard " + shard.String() + ", which has no objects"
	}
	text := ", shard " + shard.String()
	if s.isQuiet() || s.Cluster == nil {
		return text
	}
	switch can, err := s.SupportsShardSelector(ctx, listPath(s.plan.Targets), shard.Selector()); {
	case err != nil:
		return text
	case can:
		return text + ", as the server selects it"
	}
	return text + "; the server knows no shards and sends all"
}

// listPath is where a server lists something of what is watched that it says of whether it has selected a shard:
// built-in types, and namespaces where there is none.
func listPath(targets []event.Target) string {
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

// handoverSoon is how long shards take to run that are started together, and handoverWait how long they may take once their
// number has changed, one pod after the other.
const (
	handoverSoon = 15 * time.Second
	handoverWait = 10 * time.Minute
	// handoverAgain is after how long a server is asked again that did not answer.
	handoverAgain = 5 * time.Second
)

// handingOver returns a Sink before next, which knows --state, that finds out what became of what the file has of
// other shards.
func handingOver(w *watching, next event.Sink) (event.Sink, error) {
	if w.state == nil || w.connection.HasMultipleContexts() {
		return next, nil
	}
	h, err := resume.NewHandover(w.state.file, next)
	if h == nil {
		return next, err
	}
	h.LookupDelays = []time.Duration{handoverSoon, handoverWait - handoverSoon}
	h.ListIdentities, h.RetryInterval = namedAnywhere(w.session), handoverAgain
	w.state.handover = h
	return h, nil
}

// handOver does that beside the watch. finish ends it, and returns why it could not go on, if so: failed was called then.
func handOver(ctx context.Context, w *watching, failed context.CancelCauseFunc) (finish func() error) {
	if w.state == nil || w.state.handover == nil {
		return func() error { return nil }
	}
	h := w.state.handover
	ctx, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() {
		n := h.ObjectCount()
		if n > 0 {
			w.say(output.EscapeLine(w.state.path) + " has " + plural(n, "object") + " of other shards: what was deleted is told, and the rest is forgotten in " + handoverWait.String() + ", by when all shards should run")
		}
		err := h.Run(ctx)
		switch {
		case err != nil:
			err = sinkError{err} // as one of the watch: what it was told is lost
			failed(err)
		case n > 0 && ctx.Err() == nil:
			w.say(fmt.Sprintf("%s has nothing of other shards any more: of %d objects %d were deleted", output.EscapeLine(w.state.path), n, h.DeletedCount()))
		}
		over <- err
	}()
	return func() error {
		stop()
		return <-over
	}
}

// namedAnywhere returns a function that returns what the server has of a target, of all shards. Of each it says once that the
// server does not tell.
func namedAnywhere(s *session) func(context.Context, event.Target) ([]*event.Identity, error) {
	said := map[event.Key]bool{}
	return func(ctx context.Context, t event.Target) ([]*event.Identity, error) {
		o := s.watched()
		o.Shard = event.Shard{}
		all, err := watcher.New(o)
		if err != nil {
			return nil, err
		}
		named, err := all.ListIdentities(ctx, t)
		if err != nil && !said[t.Key()] && ctx.Err() == nil {
			s.warn("what became of " + report.DescribeTargets([]event.Target{t}) + " of other shards is not known yet, trying again: " + fail.ExplainDisconnect(err))
			said[t.Key()] = true
		}
		return named, err
	}
}
