package cli

import (
	"context"
	"fmt"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// passing returns what --where asks; nil if it is not given. It is used from one goroutine.
func (w *watching) passing() func(*event.Event) bool {
	if len(w.where) == 0 {
		return nil
	}
	wrong := map[*expression.Expression]bool{}
	in := expression.NewInput(event.Event{}, w.input())
	return func(e *event.Event) bool {
		in.Reset(*e)
		unknown := false
		for _, c := range w.where {
			if !e.HasFullObject() && c.Requirements().Content {
				unknown = true
				continue
			}
			holds, err := c.Matches(in)
			if err != nil && !wrong[c.Expression] {
				wrong[c.Expression] = true
				w.sayMistake(c.Expression, *e, err)
			}
			switch {
			case in.LacksOldState():
				unknown = true
			case !holds || err != nil:
				return false
			}
		}
		switch {
		case unknown && e.Reconstructed != nil:
			w.past.unevaluated++
		case unknown:
			w.unevaluated++
		}
		return !unknown
	}
}

// sayingUnjudged returns a Sink before next, which has --where in it, that says of how many
// objects it could not be evaluated, with --quiet, too: they are missing from the events. It is
// said when all is known that happened while dwatch was away.
func (w *watching) sayingUnjudged(next event.Sink) event.Sink {
	if w.state == nil || len(w.where) == 0 {
		return next
	}
	links := event.NewWatchStates(w.plan.Targets)
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		err := next.Deliver(ctx, batch)
		for i := range batch {
			links.Observe(&batch[i])
		}
		if w.unevaluated > 0 && links.Count(event.PhaseConnecting) == 0 {
			objects := "objects"
			if w.unevaluated == 1 {
				objects = "object"
			}
			w.warn(fmt.Sprintf("could not evaluate --where for %d %s that changed while dwatch was away: the state file keeps no contents", w.unevaluated, objects))
			w.unevaluated = 0
		}
		return err
	})
}

// input says how expressions look at events. Nothing is hidden from them.
func (w *watching) input() expression.Options {
	compare := w.print.Compare
	compare.Masks = nil
	return expression.Options{Compare: compare, Digests: w.digests, Now: w.now}
}

// sayMistake reports the first error of an expression, with --quiet, too: it decides what
// is left out, or how the run ends.
func (w *watching) sayMistake(x *expression.Expression, e event.Event, err error) {
	for _, c := range w.conditions() {
		if c.Expression == x {
			w.warn(fmt.Sprintf("%q does not hold for %s, as it can't be evaluated: %v", c.Text, w.subject(e.Target, e.Object), err))
			return
		}
	}
}
