package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// recalling adds what happened before at one of several clusters (--since, --before). It asks that
// cluster in the goroutine of its member, so that the others don't wait.
type recalling struct {
	*member
	*reconstructing
	next event.Sink
}

func (m *member) recalling(s *session, next event.Sink) *recalling {
	r := &recalling{member: m, next: next}
	if m.fleet.past.isAsked() && !m.recalled {
		r.reconstructing = newReconstructing(m.fleet.watching, s, m.planned(s))
		r.cluster = m.name
	}
	return r
}

// Deliver implements event.Sink.
func (r *recalling) Deliver(ctx context.Context, batch []event.Event) error {
	if r.reconstructing != nil {
		r.observe(batch)
	}
	if err := r.next.Deliver(ctx, batch); err != nil {
		return err
	}
	return r.tell(ctx)
}

// tell delivers what happened before when it is known what exists, once.
func (r *recalling) tell(ctx context.Context) error {
	if r.reconstructing == nil || !r.isSynced() {
		return nil
	}
	known := r.known(ctx)
	if ctx.Err() != nil {
		return nil // what could not be read is no news
	}
	r.recalled, r.reconstructing = true, nil
	return r.fleet.recall(ctx, r.member, known)
}

// recall takes what is known of before at a member. With --before that of all comes at the end, in one
// order of time.
func (f *fleet) recall(ctx context.Context, m *member, known reconstructed) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return f.failed
	}
	if f.past.ends() {
		if _, done := f.pasts[m.name]; !done {
			f.pasts[m.name] = known
		}
		if len(f.pasts) == len(f.all()) {
			f.stop()
		}
		return nil
	}
	err := f.past.tell(ctx, known, blamed(f.stages.past), f.noteOf(m))
	if err != nil {
		f.failWith(err)
	}
	return err
}

// noPast is recall for a member that does not answer.
func (f *fleet) noPast(ctx context.Context, m *member, why string) {
	_ = f.recall(ctx, m, reconstructed{unlisted: true, missing: []string{why + "; what happened there is not known"}})
}

// noteOf returns what says something of a member between the events, where they show it, with mu held.
func (f *fleet) noteOf(m *member) func(time.Time, string) {
	if f.stages.note == nil {
		return func(_ time.Time, text string) { m.console.warn(text) }
	}
	return func(at time.Time, text string) { f.stages.note(at, output.EscapeLine(m.name)+": "+text) }
}

// endPast delivers, when nobody watches any more, what --before asks for.
func (f *fleet) endPast(ctx context.Context) {
	late := errors.Is(context.Cause(ctx), errTimeout)
	if !f.past.ends() || f.failed != nil || ctx.Err() != nil && !late {
		return
	}
	for _, m := range f.all() {
		f.noPast(ctx, m, "--timeout passed before it had answered") // unless it has
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed = f.past.tell(ctx, f.allPasts(), blamed(f.stages.past), f.noteAll()); f.failed == nil {
		f.failed = errEnough
	}
}

// allPasts is what is known of all members as one: in the order of their clocks, and of one second in
// that of the members.
func (f *fleet) allPasts() (all reconstructed) {
	for _, m := range f.all() {
		known := f.pasts[m.name]
		f.past.unlisted = f.past.unlisted || known.unlisted
		all.events, all.whole = append(all.events, known.events...), all.whole || known.whole
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

// noteAll is noteOf for what is said of all.
func (f *fleet) noteAll() func(time.Time, string) {
	if f.stages.note == nil {
		return func(_ time.Time, text string) { f.warn(text) }
	}
	return f.stages.note
}
