package report

import (
	"context"
	"slices"
	"time"

	"dwatch/watcher/event"
)

// gathered contains findings about several targets that the Reporter combines in one line.
type gathered struct {
	absent []event.Target // targets without objects
	denied []event.Event
}

// gathers reports whether the Reporter waits until all targets have answered, and then reports all empty targets in one line
// and all denied ones in another. It does if there is a Scope, because most resources then have no objects.
func (r *Reporter) gathers() bool { return r.Scope != "" }

// reportGathered reports the gathered findings if all targets have answered, or if now is true.
func (r *Reporter) reportGathered(ctx context.Context, now bool) {
	g := r.gathered
	if len(g.absent)+len(g.denied) == 0 || !now && r.status.isConnecting() {
		return
	}
	r.gathered = gathered{}
	if len(g.absent) > 0 {
		r.logf("no %s%s yet", DescribeTargets(sorted(g.absent)), r.Scope)
	}
	switch len(g.denied) {
	case 0:
	case 1:
		r.reportDenied(ctx, g.denied[0])
	default:
		var all []event.Target
		var last time.Time
		for _, e := range g.denied {
			all, last = append(all, e.Target), e.Time
		}
		r.missingf(last, "%s: denied, trying again until it is allowed: this user may not list and watch them; dwatch rbac prints a role with that", DescribeTargets(sorted(all)))
	}
}

// sorted sorts targets by name, because they answer in random order.
func sorted(targets []event.Target) []event.Target {
	slices.SortStableFunc(targets, func(a, b event.Target) int {
		if x, y := describe(a), describe(b); x < y {
			return -1
		} else if x > y {
			return 1
		}
		return 0
	})
	return targets
}
