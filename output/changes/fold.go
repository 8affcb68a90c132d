package changes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output/inventory"
	"dwatch/output/text"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// folds counts the changes that follow intentional changes. It shows a line for each intentional change when the changes
// that followed have settled, and from time to time before that. It embeds the View because it shows the lines of groups,
// and the changes that it does not fold, as the View does.
type folds struct {
	*View
	groups      map[*inventory.IntentionalChange]*foldGroup
	ordered     []*foldGroup
	earlyEvents []earlyEvent
}

// earlyEvent is an event that arrived before its owner. Two watches deliver their events in no particular order.
type earlyEvent struct {
	event  event.Event
	change inventory.Change
}

const (
	// settleTime is the time without changes after which a group has settled. progressInterval is the time until its first line about
	// progress. Later intervals grow with the age of the group.
	settleTime, progressInterval = time.Second, 10 * time.Second
	// forgetAfter is the time without changes after which a group is removed.
	forgetAfter = 10 * time.Minute
)

// foldGroup counts the changes that followed an intentional change.
type foldGroup struct {
	cause          *inventory.IntentionalChange
	changes        int
	reported       int  // the value of changes when the last line was shown
	recovered      bool // an object became Current without an event since the last line
	last           time.Time
	reportedAt     time.Time
	notCurrent     map[string]bool // IDs of the objects that are not Current yet
	kinds          []string        // the kinds in added and deleted
	added, deleted map[string]int
	failures       map[string]*failure // by kind and reason
	failureKeys    []string            // the keys of failures, in order of arrival
}

// failure counts equal failures.
type failure struct {
	times   int
	objects map[string]bool
}

func (f *folds) groupOf(cause *inventory.IntentionalChange) *foldGroup {
	g := f.groups[cause]
	if g == nil {
		g = &foldGroup{cause: cause, reportedAt: cause.Time, notCurrent: map[string]bool{}, added: map[string]int{}, deleted: map[string]int{}, failures: map[string]*failure{}}
		if f.groups == nil {
			f.groups = map[*inventory.IntentionalChange]*foldGroup{}
		}
		f.groups[cause], f.ordered = g, append(f.ordered, g)
	}
	return g
}

// fold counts or buffers an event that follows an intentional change. It returns false if the event must be shown, because it is
// intentional or has no known cause.
func (f *folds) fold(e *event.Event, c *inventory.Change) bool {
	if c == nil || !f.Fold {
		return false
	}
	if !c.IsSignificant() {
		f.markCurrent(e, c)
		return false
	}
	if f.settleEarly(e.Time, false); !c.IntentionalOrWarning && c.CausedBy == nil {
		f.problems.inventory.FindCause(c) // an early event may be the cause
	}
	switch {
	case c.IntentionalOrWarning:
		if f.mustWait(e, c) {
			f.settleEarly(e.Time, true)
		}
		f.showBeforeNext(e, c)
		return false
	case c.CausedBy != nil && !f.hasEarlyEvent(c):
		f.shown++
		f.add(e, c)
		return true
	case f.mustWait(e, c):
		f.shown++
		f.earlyEvents = append(f.earlyEvents, earlyEvent{*e, *c})
		return true
	}
	f.startGroup(e, c)
	return false
}

// startGroup starts a group when the first new Pod of an unwatched workload appears. Jobs start no group.
func (f *folds) startGroup(e *event.Event, c *inventory.Change) {
	if e.Type != event.Added || e.Object.Kind != "Pod" || c.Root.Group != "apps" || f.watches(c) {
		return
	}
	f.problems.inventory.StartUnwatchedCause(c)
	o := c.CausedBy.Entry.Resource
	f.problems.resources[o] = o.WithVersion(c.Root.Version)
	f.groupOf(c.CausedBy).count(e, c, f.ShortName(e.Target.Resource()))
}

// watches reports whether the kind of the change's Root is watched.
func (f *folds) watches(c *inventory.Change) bool {
	return slices.ContainsFunc(f.problems.links.All(), func(l *event.WatchState) bool {
		return l.Target.Cluster == c.State.Entry.Cluster && l.Target.Mapping.GroupVersionKind.GroupKind() == c.Root.GroupKind()
	})
}

// add counts an event for its cause.
func (f *folds) add(e *event.Event, c *inventory.Change) {
	g := f.groupOf(c.CausedBy)
	g.changes, g.last = g.changes+1, e.Time
	if c.State.EventType == "" {
		g.count(e, c, f.ShortName(e.Target.Resource()))
		f.showFailure(e, c, g)
	}
	if c.Diff == nil {
		return
	}
	f.showFound(e, f.churn.Observe(e, c.Diff))
}

// maxEarly is the maximum number of buffered early events.
const maxEarly = 1000

// mustWait reports whether an event must wait, because its cause may become known soon or an earlier event of the object waits.
func (f *folds) mustWait(e *event.Event, c *inventory.Change) bool {
	return f.hasEarlyEvent(c) ||
		len(f.earlyEvents) < maxEarly && f.mayFollow(e, c)
}

// mayFollow reports whether the cause of an event may become known soon: its owners are being looked up, or their events may be on
// the way.
func (f *folds) mayFollow(e *event.Event, c *inventory.Change) bool {
	return c.RootPending || len(c.State.Owners) > 0 && (e.Type == event.Added || !f.problems.inventory.Has(c.State.Entry.Cluster, c.Root.UID)) && f.watches(c)
}

// hasEarlyEvent reports whether an earlier event of the same object waits.
func (f *folds) hasEarlyEvent(c *inventory.Change) bool {
	return slices.ContainsFunc(f.earlyEvents, func(one earlyEvent) bool { return one.change.State.Entry == c.State.Entry })
}

// settleEarly counts the early events whose cause has been found, and shows the others after settleTime. If flush is true, it shows
// them at once.
func (f *folds) settleEarly(now time.Time, flush bool) {
	for len(f.earlyEvents) > 0 {
		one := &f.earlyEvents[0]
		f.problems.inventory.FindCause(&one.change)
		switch {
		case one.change.CausedBy != nil:
			f.add(&one.event, &one.change)
		case !flush && now.Sub(one.event.Time) < settleTime && f.mayFollow(&one.event, &one.change):
			return
		default:
			f.startGroup(&one.event, &one.change)
			f.shown--
			if err := f.showOne(&one.event, &one.change); err != nil {
				f.failed = err
			}
		}
		f.earlyEvents = f.earlyEvents[1:]
	}
}

// showBeforeNext shows the group of the previous intentional change of an object, before the next one is shown.
func (f *folds) showBeforeNext(e *event.Event, c *inventory.Change) {
	end := "then changed again "
	if e.Type == event.Deleted {
		end = "then deleted "
	}
	for _, g := range f.ordered {
		if c.IntentionalOrWarning && g.cause.Entry == c.State.Entry && g.cause != c.CausedBy && g.reported < g.changes {
			f.showGroup(e.Time, g, end+formatDelay(e.Time.Sub(g.cause.Time)))
		}
	}
}

// count counts added and deleted objects, and tracks which objects are not Current.
func (g *foldGroup) count(e *event.Event, c *inventory.Change, kind string) {
	counts := map[event.Type]map[string]int{event.Added: g.added, event.Deleted: g.deleted}[e.Type]
	if counts != nil {
		counts[kind]++
		if !slices.Contains(g.kinds, kind) {
			g.kinds = append(g.kinds, kind)
		}
	}
	if isNotCurrent(c.State) && e.Type != event.Deleted {
		g.notCurrent[c.State.Entry.ID] = true
	} else {
		delete(g.notCurrent, c.State.Entry.ID)
	}
}

// isNotCurrent reports whether an object is in progress, failed or terminating.
func isNotCurrent(s *inventory.State) bool {
	switch s.Status {
	case kstatus.InProgressStatus, kstatus.FailedStatus, kstatus.TerminatingStatus:
		return true
	}
	return false
}

// markCurrent handles an event that is not shown, for example because a filter hides its changes. If its object is Current now, groups
// that wait for it may be done.
func (f *folds) markCurrent(e *event.Event, c *inventory.Change) {
	s := c.State
	if isNotCurrent(s) {
		return
	}
	turned := c.Before != nil && isNotCurrent(c.Before)
	for _, g := range f.ordered {
		if g.notCurrent[s.Entry.ID] || g.cause.Entry == s.Entry && turned && g.reported < g.changes {
			delete(g.notCurrent, s.Entry.ID)
			g.last = e.Time
		}
	}
}

// markRecovered takes an object whose status changed without an event. If it is Current now, groups that wait for it may be done.
func (f *folds) markRecovered(s *inventory.State, now time.Time) {
	if isNotCurrent(s) {
		return
	}
	for _, g := range f.ordered {
		if g.notCurrent[s.Entry.ID] {
			delete(g.notCurrent, s.Entry.ID)
			g.last, g.recovered = now, true
		}
	}
}

// showFailure shows a failure at once if it is the first of its kind, and counts it.
func (f *folds) showFailure(e *event.Event, c *inventory.Change, g *foldGroup) {
	key, text := f.findFailure(e, c)
	if text == "" {
		return
	}
	key = f.ShortName(e.Target.Resource()) + " " + key
	known := g.failures[key]
	if known == nil {
		known = &failure{objects: map[string]bool{}}
		g.failures[key], g.failureKeys = known, append(g.failureKeys, key)
		sign := '~' // restarted
		if key != f.ShortName(e.Target.Resource())+" "+restarted || c.State.Status == kstatus.FailedStatus {
			sign = problemSign(c.State.Status, sign)
		}
		f.out.wrapped(e.Time, sign, f.subject(e), text, "")
	}
	known.times++
	known.objects[c.State.Entry.ID] = true
}

// restarted is the reason for restarts of containers.
const restarted = "restarted"

// findFailure describes the failure that an event reveals. key is equal for equal failures. Both are empty if there is no new failure.
func (f *folds) findFailure(e *event.Event, c *inventory.Change) (key, text string) {
	s, before := c.State, c.Before
	if e.Type == event.Deleted {
		return "", ""
	}
	if e.Type == event.Modified && c.Diff != nil && s.Object.Kind == "Pod" {
		if lines, _ := foldRestarts(e, change.SplitStatus(slices.Clone(c.Diff.Changes)), f.Compare.Masks); len(lines) > 0 {
			return restarted, strings.Join(lines, "; ")
		}
	}
	isNew := before == nil || before.Status != s.Status || before.ReasonKey() != s.ReasonKey()
	if isNew && (s.Status == kstatus.FailedStatus || s.Status == kstatus.InProgressStatus && s.SelfReported) {
		return s.ReasonKey(), s.Status.String() + ": " + clean(s.Message)
	}
	return "", ""
}

// showDue shows the lines that are due. If flush is true, it shows a line for each group with new changes.
func (f *folds) showDue(now time.Time, flush bool) {
	f.settleEarly(now, flush)
	for _, g := range f.ordered {
		if (g.reported < g.changes || g.recovered) && (flush || f.isDue(g, now)) {
			f.showGroup(now, g, f.progress(g, now))
		}
	}
	f.forget(now)
}

// isDue reports whether the line of a group is due.
func (f *folds) isDue(g *foldGroup, now time.Time) bool {
	if now.Sub(g.last) >= settleTime && f.isDone(g) {
		return true
	}
	return now.Sub(g.reportedAt) >= max(progressInterval, g.reportedAt.Sub(g.cause.Time)/3)
}

// isDone reports whether the changed object and all objects of the group are Current.
func (f *folds) isDone(g *foldGroup) bool {
	s := f.problems.currentState(g.cause.Entry)
	return len(g.notCurrent) == 0 && (s == nil || s.Status == kstatus.CurrentStatus || s.Status == kstatus.UnknownStatus)
}

// forget removes groups without recent changes.
func (f *folds) forget(now time.Time) {
	f.ordered = slices.DeleteFunc(f.ordered, func(g *foldGroup) bool {
		return g.reported == g.changes && !g.recovered && now.Sub(g.last) > forgetAfter
	})
	if len(f.ordered) < len(f.groups) {
		maps.DeleteFunc(f.groups, func(_ *inventory.IntentionalChange, g *foldGroup) bool { return !slices.Contains(f.ordered, g) })
	}
}

// showGroup shows the line of a group. end describes its result or progress.
func (f *folds) showGroup(now time.Time, g *foldGroup, end string) {
	g.reported, g.reportedAt, g.recovered = g.changes, now, false
	line := text.Count(g.changes, "change")
	if g.cause.IsRollout {
		line = "rollout " + end + "; " + line
	} else {
		line += " followed, " + end
	}
	for _, kind := range f.sortKinds(g.kinds) {
		line += "; "
		if n := g.added[kind]; n > 0 {
			line += fmt.Sprintf("+%d ", n)
		}
		if n := g.deleted[kind]; n > 0 {
			line += fmt.Sprintf("-%d ", n)
		}
		line += kind
	}
	for _, key := range g.failureKeys {
		n := len(g.failures[key].objects)
		if strings.HasSuffix(key, restarted) {
			n = g.failures[key].times
		}
		if n > 1 {
			line += fmt.Sprintf("; %s ×%d", clean(key), n)
		}
	}
	f.out.wrapped(now, '>', f.problems.subjectOf(g.cause.Entry), line, "")
}

// sortKinds sorts kinds in the order of the targets.
func (f *folds) sortKinds(kinds []string) []string {
	targets := f.Targets
	if f.problems != nil { // knows the targets of all clusters
		targets = nil
		for _, l := range f.problems.links.All() {
			targets = append(targets, l.Target)
		}
	}
	place := func(kind string) int {
		return slices.IndexFunc(targets, func(t event.Target) bool { return f.ShortName(t.Resource()) == kind })
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return place(a) - place(b) })
	return kinds
}

// formatDelay formats the time from a change to the next one.
func formatDelay(d time.Duration) string {
	if d < time.Second {
		return "within 1 s"
	}
	return "after " + age(d)
}

// progress describes the result and duration of a group, or its progress.
func (f *folds) progress(g *foldGroup, now time.Time) string {
	s, took, passed := f.problems.currentState(g.cause.Entry), g.last.Sub(g.cause.Time), ""
	if d := now.Sub(g.cause.Time); d >= time.Second {
		passed = " after " + age(d)
	}
	switch {
	case f.isDone(g) && took < time.Second:
		return "done within 1 s"
	case f.isDone(g):
		return "done in " + age(took)
	case s != nil && s.Status == kstatus.FailedStatus:
		return "failed" + passed + ": " + clean(s.Message)
	case s != nil && s.Message != "":
		return "not done" + passed + ": " + clean(s.Message)
	}
	return "not done" + passed
}
