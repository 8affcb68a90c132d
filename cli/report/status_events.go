package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

// reportStatus reports a status event, which is not a keepalive.
func (r *Reporter) reportStatus(ctx context.Context, e event.Event) {
	t := e.Target
	was, lost := r.status.observe(&e)
	if was.Denied && e.Type.Phase() == event.PhaseLive {
		r.queue.add(ctx, func(context.Context) { r.statusf(e.Time, "%s: allowed", describe(t)) })
	}
	// If there are many targets, or with OnStatus, gaps are reported together at the end of the outage.
	_, isUnreadable := r.unreadable[t.Key()]
	isCounted := e.Type == event.Gap && !isUnreadable && was.Phase() == event.PhaseLost && (r.many || r.OnStatus != nil)
	if isCounted {
		r.gaps++
	}
	if known := len(r.unreadable); r.reportUnreadable(e) {
		was.lost, lost = was.lost-known, lost-len(r.unreadable)
		r.reportOutage(e, was, lost)
	}
	switch {
	case e.Type == event.Synced:
		if e.Count == 0 {
			r.reportEmpty(ctx, e)
		}
		if !was.Synced {
			r.reportMissingList(ctx, t)
		}
	case e.Type == event.Gap && !isCounted:
		r.reportGap(e)
	case e.Type == event.Gone:
		r.statusf(e.Time, "%s: the server no longer has the resource; waiting for it", describe(t))
	case e.Type == event.Arrived:
		r.statusf(e.Time, "%s: the server has the resource; watching it", describe(t))
	case e.Type == event.Joined && t.Name != "":
		r.statusf(e.Time, "%s: is related now; watching it", describe(t))
	case e.Type == event.Joined:
		r.reportNamespace(e, "namespace %s matches; watching it", e.Target.Namespace)
	case e.Type == event.Left && errors.Is(e.Err, event.ErrNotRequested):
		r.statusf(e.Time, "%s: no longer watched", describe(t))
	case e.Type == event.Left:
		r.reportNamespace(e, "namespace %s: %v; no longer watching it", e.Target.Namespace, e.Err)
	case e.Type == event.Denied && !was.Denied:
		r.reportRefusal(ctx, e)
	}
	r.reportGathered(ctx, false)
}

const relisted = "relisted: only intermediate states may be missing"

// reportGap reports that intermediate states may be missing after a relist.
func (r *Reporter) reportGap(e event.Event) {
	if r.OnStatus != nil { // a format for people, who can't use resource versions
		r.missingf(e.Time, "%s: %s", describe(e.Target), relisted)
		return
	}
	r.writef(r.Err, "%s: relisted at resourceVersion %s: only intermediate states since %s may be missing",
		describe(e.Target), e.ResourceVersion, cmp.Or(e.From, "the start"))
}

// reportOutage reports the beginning and the end of an outage once, however many targets it affects. was.lost and lost are the
// numbers of targets without a connection before and after the event. Unreadable targets don't count.
func (r *Reporter) reportOutage(e event.Event, was before, lost int) {
	if was.lost == 0 && lost > 0 {
		r.resumed = true
		r.statusf(e.Time, "connection lost, trying again: %s", fail.ExplainDisconnect(e.Err))
	}
	if e.Type == event.Gap || lost < was.lost { // a gap may come without a Disconnected event of its target
		r.resumed = r.resumed && e.Type == event.Reconnected
	}
	switch {
	case lost > 0 || was.lost == 0:
	case r.gaps > 0 && r.OnStatus != nil:
		r.missingf(e.Time, "reconnected; %s", relisted)
	case r.gaps > 0:
		r.writef(r.Err, "reconnected; %d resources were relisted: only intermediate states may be missing", r.gaps)
	case r.OnStatus != nil && r.resumed:
		r.statusf(e.Time, "reconnected, nothing missed")
	default:
		r.statusf(e.Time, "reconnected")
	}
	if lost == 0 {
		r.gaps = 0
	}
}

// reportNamespace reports once that a namespace is watched or no longer watched, however many targets it has.
func (r *Reporter) reportNamespace(e event.Event, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != r.lastNamespaceLine {
		r.lastNamespaceLine = text
		r.statusf(e.Time, "%s", text)
	}
}

// reportEmpty reports that a target has no objects.
func (r *Reporter) reportEmpty(ctx context.Context, e event.Event) {
	t := e.Target
	switch {
	case r.many:
		return
	case t.Name == "" && r.gathers():
		r.gathered.absent = append(r.gathered.absent, t)
		return
	case t.Name == "":
		r.logf("no %s%s yet", describe(t), r.Scope)
		return
	}
	waiting := "%s does not exist yet; waiting for it%s"
	if r.IsExpected != nil && r.IsExpected(&e) {
		waiting = "%s does not exist%s"
	}
	if r.ResourceNamed != nil {
		if resource := r.ResourceNamed(t.Name); resource != "" {
			r.logf(waiting, describe(t), fmt.Sprintf(" (%q is also a resource: to watch both, say dwatch %s,%s)", t.Name, t.Resource().Resource, resource))
			return
		}
	}
	if r.SimilarName == nil {
		r.logf(waiting, describe(t), "")
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		r.logf(waiting, describe(t), didYouMean(r.SimilarName(ctx, t)))
	})
}

// reportRefusal reports that a target is denied, or gathers the event.
func (r *Reporter) reportRefusal(ctx context.Context, e event.Event) {
	if r.gathers() {
		r.gathered.denied = append(r.gathered.denied, e)
		return
	}
	r.reportDenied(ctx, e)
}

// reportDenied reports asynchronously that a target is denied, and which permission is missing.
func (r *Reporter) reportDenied(ctx context.Context, e event.Event) {
	t := e.Target
	r.queue.add(ctx, func(ctx context.Context) {
		err := e.Err
		if of, ok := errors.AsType[*event.TargetError](err); ok {
			err = of.Err // the line already names the target
		}
		if r.Access != nil {
			err = r.Access.DescribeDenials(ctx, &event.TargetError{Target: t, Err: err})
		}
		r.missingf(e.Time, "%s: denied, trying again until it is allowed: %s", describe(t), strings.Join(fail.Explain(err), "; "))
	})
}

// reportMissingList reports asynchronously if the user may watch, but not list, a target that has just synced.
func (r *Reporter) reportMissingList(ctx context.Context, t event.Target) {
	if r.Access == nil {
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		if refusal, lacks := r.Access.CannotList(ctx, t); lacks {
			r.logf("%s: %s; watching works anyway, because this server streams existing objects; other servers need list", describe(t), refusal)
		}
	})
}
