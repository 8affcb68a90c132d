package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"

	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
)

// talk says on stderr, in one line each, what goes on. It is used from one
// goroutine; its asides only say.
type talk struct {
	mu     sync.Mutex // for w
	w      io.Writer  // discards with --quiet
	mapper *mapper.Mapper
	rights *rights // nil if nobody listens; only asides ask it
	asides asides
	// down, denied and checked are targets, as described.
	down, denied, checked map[string]bool
	// many: there is too much to watch to say of each what it has.
	many bool
	// gaps counts the targets that were listed anew in the present outage.
	gaps int
}

// begin says what is watched, and a note on it.
func (t *talk) begin(targets []event.Target, note string) {
	t.many = len(targets) > few
	if len(targets) > 0 {
		t.say("watching %s%s", describeAll(targets), note)
	}
}

func (t *talk) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(t.w, output.Line(fmt.Sprintf(format, args...)))
}

// hear passes e on to next, and says what people have to know about the watch.
func (t *talk) hear(ctx context.Context, next func(event.Event) error) func(event.Event) error {
	return func(e event.Event) error {
		if e.Type.IsMark() && e.Type != event.Heartbeat {
			t.mark(ctx, e)
		}
		return next(e)
	}
}

func (t *talk) mark(ctx context.Context, e event.Event) {
	what := describe(e.Target)
	switch e.Type {
	case event.Synced:
		t.up(ctx, e.Target)
		if e.Count == 0 {
			t.nothingThere(ctx, e.Target)
		}
		t.checkList(ctx, e.Target)
	case event.Disconnected:
		t.lost(e.Target, e.Err)
	case event.Reconnected:
		t.up(ctx, e.Target)
	case event.Gap:
		t.gap(ctx, e)
	case event.Gone:
		t.forget(what)
		t.say("%s: the server no longer has the resource; waiting for it", what)
	case event.Arrived:
		t.say("%s: the server has the resource; watching it", what)
	case event.Denied:
		t.endOutage(what)
		t.deny(ctx, e.Target, e.Err)
	}
}

// gap tells what a list after a loss may have cost. What it cost many targets is
// told at the end of the outage, in one line.
func (t *talk) gap(ctx context.Context, e event.Event) {
	if t.many && t.down[describe(e.Target)] {
		t.gaps++
		t.up(ctx, e.Target)
		return
	}
	t.up(ctx, e.Target)
	t.say("%s: listed anew at resourceVersion %s: states since %s may be missing, last states and deletions are not",
		describe(e.Target), e.ResourceVersion, orUnknown(e.From))
}

// lost and up tell once about an outage, however many targets it hits.
func (t *talk) lost(target event.Target, err error) {
	if len(t.down) == 0 {
		t.say("connection lost, trying again: %s", explainLoss(err))
	}
	t.down[describe(target)] = true
}

func (t *talk) up(ctx context.Context, target event.Target) {
	what := describe(target)
	t.allow(ctx, what)
	t.endOutage(what)
}

// forget: the target has left, and another of the same name may come.
func (t *talk) forget(what string) {
	t.endOutage(what)
	delete(t.denied, what)
	delete(t.checked, what)
}

func (t *talk) endOutage(what string) {
	if !t.down[what] {
		return
	}
	delete(t.down, what)
	switch {
	case len(t.down) > 0:
	case t.gaps > 0:
		t.say("reconnected; %d resources were listed anew: states in between may be missing, last states and deletions are not", t.gaps)
		t.gaps = 0
	default:
		t.say("reconnected")
	}
}

func (t *talk) nothingThere(ctx context.Context, target event.Target) {
	switch {
	case t.many:
		return
	case target.Name == "":
		t.say("no %s yet", describe(target))
		return
	}
	hint := ""
	// The events wait meanwhile, so the server is not asked.
	if mappings := t.mapper.Recall(ctx, target.Name); len(mappings) > 0 {
		hint = fmt.Sprintf(" (%s is also a resource: to watch both, say dwatch %s,%s)",
			quoted(target.Name), target.Resource().Resource, mappings[0].Resource.Resource)
	}
	t.say("%s is not there yet; waiting for it%s", describe(target), hint)
}

func quoted(s string) string { return strconv.Quote(s) }

func orUnknown(resourceVersion string) string {
	if resourceVersion == "" {
		return "the start"
	}
	return resourceVersion
}
