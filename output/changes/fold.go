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

// folds counts the changes that follow intentional changes. It shows a line for each intentional change when the following changes
// have settled, and from time to time before that.
type folds struct {
	*View
	all     map[*inventory.IntentionalChange]*followed
	ordered []*followed
	early   []early
}

// early is an event that arrived before its owner is known. The events of two watches are not ordered.
type early struct {
	event  event.Event
	change inventory.Change
}

const (
	// settles is the time without changes after which they have settled. goesOn is the time until the first line about progress.
	// Later intervals grow with the total time.
	settles, goesOn = time.Second, 10 * time.Second
	// forgotten is the time without changes after which an intentional change is removed.
	forgotten = 10 * time.Minute
)

// followed has the changes that followed an intentional one.
type followed struct {
	lead       *inventory.IntentionalChange
	changes    int
	told       int // the value of changes in the last line
	last       time.Time
	saidAt     time.Time
	open       map[string]bool // the objects that are not Current yet
	kinds      []string        // the kinds in came and went
	came, went map[string]int
	wrong      map[string]*wrong // by kind and reason
	wrongs     []string          // the keys of wrong, in order of arrival
}

// wrong counts equal failures.
type wrong struct {
	times   int
	objects map[string]bool
}

func (f *folds) of(lead *inventory.IntentionalChange) *followed {
	g := f.all[lead]
	if g == nil {
		g = &followed{lead: lead, saidAt: lead.Time, open: map[string]bool{}, came: map[string]int{}, went: map[string]int{}, wrong: map[string]*wrong{}}
		if f.all == nil {
			f.all = map[*inventory.IntentionalChange]*followed{}
		}
		f.all[lead], f.ordered = g, append(f.ordered, g)
	}
	return g
}

// take counts or buffers an event that follows an intentional change. It returns false if the event must be shown, because it is
// intentional or has no known cause.
func (f *folds) take(e *event.Event, c *inventory.Change) bool {
	if c == nil || !f.Fold {
		return false
	}
	if !c.IsSignificant() {
		f.settled(e, c)
		return false
	}
	if f.settleEarly(e.Time, false); !c.IntentionalOrWarning && c.CausedBy == nil {
		f.look.inventory.FindCause(c) // an early event may be the cause
	}
	switch {
	case c.IntentionalOrWarning:
		if f.isEarly(e, c) {
			f.settleEarly(e.Time, true)
		}
		f.superseded(e, c)
		return false
	case c.CausedBy != nil && !f.waits(c):
		f.shown++
		f.add(e, c)
		return true
	case f.isEarly(e, c):
		f.shown++
		f.early = append(f.early, early{*e, *c})
		return true
	}
	f.begin(e, c)
	return false
}

// begin starts a group when the first new Pod of an unwatched workload appears. Jobs start no group.
func (f *folds) begin(e *event.Event, c *inventory.Change) {
	if e.Type != event.Added || e.Object.Kind != "Pod" || c.Root.Group != "apps" || f.watches(c) {
		return
	}
	f.look.inventory.StartUnwatchedCause(c)
	o := c.CausedBy.Entry.Resource
	f.look.resources[o] = o.WithVersion(c.Root.Version)
	f.of(c.CausedBy).count(e, c, f.ShortName(e.Target.Resource()))
}

// watches reports whether the kind of the change's Root is watched.
func (f *folds) watches(c *inventory.Change) bool {
	return slices.ContainsFunc(f.look.links.All(), func(l *event.WatchState) bool {
		return l.Target.Cluster == c.State.Entry.Cluster && l.Target.Mapping.GroupVersionKind.GroupKind() == c.Root.GroupKind()
	})
}

// add counts an event for its cause.
func (f *folds) add(e *event.Event, c *inventory.Change) {
	g := f.of(c.CausedBy)
	g.changes, g.last = g.changes+1, e.Time
	if c.State.EventType == "" {
		g.count(e, c, f.ShortName(e.Target.Resource()))
		f.showWrong(e, c, g)
	}
	if c.Diff == nil {
		return
	}
	f.showFound(e, f.churn.Observe(e, c.Diff))
}

// maxEarly is the maximum number of buffered early events.
const maxEarly = 1000

// isEarly reports whether an event must wait, because its cause may become known soon or an earlier event of the object waits.
func (f *folds) isEarly(e *event.Event, c *inventory.Change) bool {
	return f.waits(c) ||
		len(f.early) < maxEarly && f.mayFollow(e, c)
}

// mayFollow reports whether the cause of an event may become known soon: its owners are being looked up, or their events may be on
// the way.
func (f *folds) mayFollow(e *event.Event, c *inventory.Change) bool {
	return c.RootPending || len(c.State.Owners) > 0 && (e.Type == event.Added || !f.look.inventory.Has(c.State.Entry.Cluster, c.Root.UID)) && f.watches(c)
}

// waits reports whether an earlier event of the same object waits.
func (f *folds) waits(c *inventory.Change) bool {
	return slices.ContainsFunc(f.early, func(one early) bool { return one.change.State.Entry == c.State.Entry })
}

// settleEarly counts early events whose cause has become known, and shows those that have waited long enough. If all is set, no
// event keeps waiting.
func (f *folds) settleEarly(now time.Time, all bool) {
	for len(f.early) > 0 {
		one := &f.early[0]
		f.look.inventory.FindCause(&one.change)
		switch {
		case one.change.CausedBy != nil:
			f.add(&one.event, &one.change)
		case !all && now.Sub(one.event.Time) < settles && f.mayFollow(&one.event, &one.change):
			return
		default:
			f.begin(&one.event, &one.change)
			f.shown--
			if err := f.showOne(&one.event, &one.change); err != nil {
				f.failed = err
			}
		}
		f.early = f.early[1:]
	}
}

// superseded shows what followed the last intentional change of an object before the next one is shown.
func (f *folds) superseded(e *event.Event, c *inventory.Change) {
	end := "then changed again "
	if e.Type == event.Deleted {
		end = "then deleted "
	}
	for _, g := range f.ordered {
		if c.IntentionalOrWarning && g.lead.Entry == c.State.Entry && g.lead != c.CausedBy && g.told < g.changes {
			f.sayFollowed(e.Time, g, end+after(e.Time.Sub(g.lead.Time)))
		}
	}
}

// count counts added and deleted objects, and tracks which objects are not Current.
func (g *followed) count(e *event.Event, c *inventory.Change, kind string) {
	counts := map[event.Type]map[string]int{event.Added: g.came, event.Deleted: g.went}[e.Type]
	if counts != nil {
		counts[kind]++
		if !slices.Contains(g.kinds, kind) {
			g.kinds = append(g.kinds, kind)
		}
	}
	if isOpen(c.State) && e.Type != event.Deleted {
		g.open[c.State.Entry.ID] = true
	} else {
		delete(g.open, c.State.Entry.ID)
	}
}

// isOpen reports whether an object is in progress, failed or terminating.
func isOpen(s *inventory.State) bool {
	switch s.Status {
	case kstatus.InProgressStatus, kstatus.FailedStatus, kstatus.TerminatingStatus:
		return true
	}
	return false
}

// settled takes an event that is not shown. A filter may hide the changes that show the end of a rollout.
func (f *folds) settled(e *event.Event, c *inventory.Change) {
	s := c.State
	if isOpen(s) {
		return
	}
	turned := c.Before != nil && isOpen(c.Before)
	for _, g := range f.ordered {
		if g.open[s.Entry.ID] || g.lead.Entry == s.Entry && turned && g.told < g.changes {
			delete(g.open, s.Entry.ID)
			g.last = e.Time
		}
	}
}

// showWrong shows a failure at once if it is the first of its kind, and counts it.
func (f *folds) showWrong(e *event.Event, c *inventory.Change, g *followed) {
	sort, text := f.wentWrong(e, c)
	if text == "" {
		return
	}
	sort = f.ShortName(e.Target.Resource()) + " " + sort
	known := g.wrong[sort]
	if known == nil {
		known = &wrong{objects: map[string]bool{}}
		g.wrong[sort], g.wrongs = known, append(g.wrongs, sort)
		sign := '~' // restarted
		if sort != f.ShortName(e.Target.Resource())+" "+restarted || c.State.Status == kstatus.FailedStatus {
			sign = wrongSign(c.State.Status, sign)
		}
		f.wrapped(e.Time, sign, f.subject(e), text, "")
	}
	known.times++
	known.objects[c.State.Entry.ID] = true
}

// restarted is the reason for restarts of containers.
const restarted = "restarted"

// wentWrong describes the failure that an event reveals. sort is equal for equal failures. Both are empty if there is no new failure.
func (f *folds) wentWrong(e *event.Event, c *inventory.Change) (sort, text string) {
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

// say shows the lines that are due. If all is set, it shows a line for each group with new changes.
func (f *folds) say(now time.Time, all bool) {
	f.settleEarly(now, all)
	for _, g := range f.ordered {
		if g.told < g.changes && (all || f.isDue(g, now)) {
			f.sayFollowed(now, g, f.howFar(g, now))
		}
	}
	f.forget(now)
}

// isDue reports whether the line of a group is due.
func (f *folds) isDue(g *followed, now time.Time) bool {
	if now.Sub(g.last) >= settles && f.isDone(g) {
		return true
	}
	return now.Sub(g.saidAt) >= max(goesOn, g.saidAt.Sub(g.lead.Time)/3)
}

// isDone reports whether the changed object and all objects of the group are Current.
func (f *folds) isDone(g *followed) bool {
	s := f.look.present(g.lead.Entry)
	return len(g.open) == 0 && (s == nil || s.Status == kstatus.CurrentStatus || s.Status == kstatus.UnknownStatus)
}

// forget removes groups without recent changes.
func (f *folds) forget(now time.Time) {
	f.ordered = slices.DeleteFunc(f.ordered, func(g *followed) bool { return g.told == g.changes && now.Sub(g.last) > forgotten })
	if len(f.ordered) < len(f.all) {
		maps.DeleteFunc(f.all, func(_ *inventory.IntentionalChange, g *followed) bool { return !slices.Contains(f.ordered, g) })
	}
}

// sayFollowed shows the line of a group. end describes the result or the progress.
func (f *folds) sayFollowed(now time.Time, g *followed, end string) {
	g.told, g.saidAt = g.changes, now
	line := text.Count(g.changes, "change")
	if g.lead.IsRollout {
		line = "rollout " + end + "; " + line
	} else {
		line += " followed, " + end
	}
	for _, kind := range f.asAsked(g.kinds) {
		line += "; "
		if n := g.came[kind]; n > 0 {
			line += fmt.Sprintf("+%d ", n)
		}
		if n := g.went[kind]; n > 0 {
			line += fmt.Sprintf("-%d ", n)
		}
		line += kind
	}
	for _, sort := range g.wrongs {
		n := len(g.wrong[sort].objects)
		if strings.HasSuffix(sort, restarted) {
			n = g.wrong[sort].times
		}
		if n > 1 {
			line += fmt.Sprintf("; %s ×%d", clean(sort), n)
		}
	}
	f.wrapped(now, '>', f.look.named(g.lead.Entry), line, "")
}

// asAsked sorts kinds in the order of the targets.
func (f *folds) asAsked(kinds []string) []string {
	targets := f.Targets
	if f.look != nil { // it also has the targets of several clusters
		targets = nil
		for _, l := range f.look.links.All() {
			targets = append(targets, l.Target)
		}
	}
	place := func(kind string) int {
		return slices.IndexFunc(targets, func(t event.Target) bool { return f.ShortName(t.Resource()) == kind })
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return place(a) - place(b) })
	return kinds
}

// after formats the time from a change to the next one.
func after(d time.Duration) string {
	if d < time.Second {
		return "within 1 s"
	}
	return "after " + age(d)
}

// howFar describes the result and duration of a group, or its progress.
func (f *folds) howFar(g *followed, now time.Time) string {
	s, took, passed := f.look.present(g.lead.Entry), g.last.Sub(g.lead.Time), ""
	if d := now.Sub(g.lead.Time); d >= time.Second {
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
