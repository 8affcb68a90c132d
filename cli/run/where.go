package run

import (
	"context"
	"fmt"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// where returns a function that evaluates --where, or nil if that is not given. One goroutine may use it.
func (r *Run) where() func(*event.Event) bool {
	if len(r.cfg.Where) == 0 {
		return nil
	}
	failed := map[*expression.Expression]bool{}
	in := expression.NewInput(event.Event{}, r.expressionOptions())
	return func(e *event.Event) bool {
		in.Reset(*e)
		unknown := false
		for _, c := range r.cfg.Where {
			if !e.HasFullObject() && c.Requirements().Content {
				unknown = true
				continue
			}
			holds, err := c.Matches(in)
			if err != nil && !failed[c.Expression] {
				failed[c.Expression] = true
				r.warnFailedExpression(c.Expression, *e, err)
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
			r.unevaluatedPast++
		case unknown:
			r.unevaluated++
		}
		return !unknown
	}
}

// warnUnevaluated returns a Sink before next, which evaluates --where. When the changes since the last run are complete, it
// says for how many objects --where could not be evaluated. --quiet does not hide this: those objects are missing from the output.
func (r *Run) warnUnevaluated(next event.Sink) event.Sink {
	links := event.NewWatchStates(r.scope.Targets)
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		err := next.Deliver(ctx, batch)
		for i := range batch {
			links.Observe(&batch[i])
		}
		if r.unevaluated > 0 && links.Count(event.PhaseConnecting) == 0 {
			objects := "objects"
			if r.unevaluated == 1 {
				objects = "object"
			}
			r.scope.Console.Warn(fmt.Sprintf("could not evaluate --where for %d %s that changed while dwatch was away: the state file keeps no contents", r.unevaluated, objects))
			r.unevaluated = 0
		}
		return err
	})
}

// expressionOptions say how expressions see events. Nothing is masked for them.
func (r *Run) expressionOptions() expression.Options {
	compare := r.cfg.Print.Compare
	compare.Masks = nil
	o := expression.Options{Compare: compare, Digests: r.state.digester()}
	if r.scope.IsRecorded() {
		o.Now = r.scope.Recorded.Now
	}
	return o
}

// warnFailedExpression reports the first error of an expression. --quiet does not hide it: it decides what is left out, or how the run
// ends.
func (r *Run) warnFailedExpression(x *expression.Expression, e event.Event, err error) {
	for _, c := range r.cfg.Conditions() {
		if c.Expression == x {
			r.scope.Console.Warn(fmt.Sprintf("%q does not hold for %s, as it can't be evaluated: %v", c.Text, r.scope.Subject(e.Target, e.Object), err))
			return
		}
	}
}
