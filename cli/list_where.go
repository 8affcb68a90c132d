package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// stateExpressions maps words that describe a change to expressions for the state after it.
var stateExpressions = map[string]string{
	"evicted":   "evicted(object)",
	"restarted": "restarts(object) > 0",
	"unready":   "!ready(object)",
}

// checkListWhere refuses conditions that compare two states of an object, as a list has one state of each.
func checkListWhere(where []flags.Condition) error {
	for _, c := range where {
		r := c.Requirements()
		if !r.Old && !r.Changes {
			continue
		}
		instead := "use dwatch RESOURCE --where, with --since for the past"
		if state, ok := stateExpressions[strings.TrimSpace(c.Text)]; ok {
			instead = fmt.Sprintf("use --where '%s' for the present state, or dwatch RESOURCE --where for changes, with --since for the past", state)
		}
		return fmt.Errorf("%s compares an object with an earlier state, but a list has only one state of each object: %s", c, instead)
	}
	return nil
}

// filter returns the objects that match --where at a time. If a condition can't be evaluated for an object, the object does
// not match. The first error of each condition is reported.
func (l *listTask) filter(c *console.Console, objects []event.Object, at time.Time) []event.Object {
	if len(l.where) == 0 {
		return objects
	}
	compare := l.print.Compare
	compare.Masks = nil
	in := expression.NewInput(event.Event{}, expression.Options{Compare: compare, Now: func() time.Time { return at }})
	reported := map[*expression.Expression]bool{}
	return slices.DeleteFunc(objects, func(o event.Object) bool {
		in.Reset(event.Event{Type: event.Added, Object: o, Time: at, Initial: true})
		for _, where := range l.where {
			matches, err := where.Matches(in)
			if err != nil && !reported[where.Expression] {
				reported[where.Expression] = true
				c.Warn(fmt.Sprintf("%q does not hold for %s %s, as it can't be evaluated: %v", where.Text, o.Kind, o.Name, err))
			}
			if err != nil || !matches {
				return true
			}
		}
		return false
	})
}

// needsManagedFields reports whether --where reads managed fields.
func (l *listTask) needsManagedFields() bool {
	return slices.ContainsFunc(l.where, func(c flags.Condition) bool { return c.Requirements().ManagedFields })
}

// omitsObject reports whether --where has left out the one object that was named, so that a List without items is printed.
func (l *listTask) omitsObject(objects []event.Object) bool {
	return len(l.where) > 0 && len(objects) == 0
}
