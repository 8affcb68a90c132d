package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// clusterPast is a Sink that adds the reconstructed past of one of several clusters (--since, --before). It asks the cluster in the
// goroutine of its member, so that the others do not wait.
type clusterPast struct {
	member         *member
	reconstruction *reconstruction // nil once the past was delivered, also by an earlier try
	next           event.Sink
}

// newClusterPast returns nil without --since and --before.
func (m *member) newClusterPast(s *Session) *clusterPast {
	if !m.of.run.cfg.AsksPast() {
		return nil
	}
	p := &clusterPast{member: m}
	if !m.pastDelivered {
		p.reconstruction = m.of.run.newReconstruction(s, m.planned(s))
		p.reconstruction.cluster = m.name
	}
	return p
}

// Deliver implements event.Sink.
func (p *clusterPast) Deliver(ctx context.Context, batch []event.Event) error {
	if p.reconstruction != nil {
		p.reconstruction.observe(batch)
	}
	if err := p.next.Deliver(ctx, batch); err != nil {
		return err
	}
	return p.deliverIfSynced(ctx)
}

// deliverIfSynced delivers the past once all targets are synced.
func (p *clusterPast) deliverIfSynced(ctx context.Context) error {
	if p.reconstruction == nil || !p.reconstruction.isSynced() {
		return nil
	}
	known := p.reconstruction.finish(ctx)
	if ctx.Err() != nil {
		return nil // what could not be read only shows that the run ends
	}
	p.member.pastDelivered, p.reconstruction = true, nil
	return p.member.of.addPast(ctx, p.member, known)
}

// addPast delivers the past of a member. With --before it keeps it: the past of all clusters comes at the end, in one order of time.
func (c *clusters) addPast(ctx context.Context, m *member, known reconstructed) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	if c.run.cfg.OnlyPast() {
		if _, done := c.pasts[m.name]; !done {
			c.pasts[m.name] = known
		}
		if len(c.pasts) == len(c.all()) {
			c.stop()
		}
		return nil
	}
	err := c.run.deliverPast(ctx, known, markLoss(c.run.pastSink), c.pastNote(m))
	if err != nil {
		c.failLocked(err)
	}
	return err
}

// missPast adds an unknown past for a member that does not answer.
func (c *clusters) missPast(ctx context.Context, m *member, why string) {
	_ = c.addPast(ctx, m, reconstructed{unlisted: true, missing: []string{why + "; its changes are unknown"}})
}

// pastNote returns a function that notes something about a member. The caller of the function holds c.mu.
func (c *clusters) pastNote(m *member) func(time.Time, string) {
	if c.run.note == nil {
		return func(_ time.Time, text string) { m.console.Warn(text) }
	}
	return func(at time.Time, text string) { c.run.note(at, output.EscapeLine(m.name)+": "+text) }
}

// finishPast delivers, when all members have ended, what --before asks for.
func (c *clusters) finishPast(ctx context.Context) {
	late := errors.Is(context.Cause(ctx), ErrTimeout)
	if !c.run.cfg.OnlyPast() || c.failed != nil || ctx.Err() != nil && !late {
		return
	}
	for _, m := range c.all() {
		c.missPast(ctx, m, "--timeout passed before it had answered") // has no effect if m has delivered its past
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	note := c.run.note
	if note == nil {
		note = func(_ time.Time, text string) { c.console.Warn(text) }
	}
	if c.failed = c.run.deliverPast(ctx, c.mergePasts(), markLoss(c.run.pastSink), note); c.failed == nil {
		c.failed = ErrEnough
	}
}

// mergePasts merges the pasts of all clusters in the order of time. Events with the same time keep the order of the clusters.
func (c *clusters) mergePasts() (all reconstructed) {
	for _, m := range c.all() {
		known := c.pasts[m.name]
		c.run.pastIncomplete = c.run.pastIncomplete || known.unlisted
		all.events = append(all.events, known.events...)
		for _, text := range known.missing {
			all.missing = append(all.missing, output.EscapeLine(m.name)+": "+text)
		}
		for _, text := range known.undated {
			all.undated = append(all.undated, output.EscapeLine(m.name)+": "+text)
		}
	}
	slices.SortStableFunc(all.events, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	return all
}
