package changes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// folds are what followed changes that somebody meant, each said in one line when it has come to its
// end, and before that now and then.
type folds struct {
	*View
	all     map[*inventory.IntentionalChange]*followed
	ordered []*followed
	early   []early
}

// early is an event that has come before what its object belongs to is known: nothing orders two watches.
type early struct {
	event  event.Event
	change inventory.Change
}

const (
	// settles is how long nothing more follows before that is the end, and goesOn after what time
	// it is said how far it is: then each time that a third more has passed.
	settles, goesOn = time.Second, 10 * time.Second
	// forgotten is how long nothing more follows before a change is let go.
	forgotten = 10 * time.Minute
)

// followed is what followed one change.
type followed struct {
	lead       *inventory.IntentionalChange
	changes    int
	told       int // of them, in the last line
	last       time.Time
	saidAt     time.Time
	open       map[string]bool // the objects that are not yet as they are to be
	kinds      []string        // of which some came or went
	came, went map[string]int
	wrong      map[string]*wrong // by what it has in common with others
	wrongs     []string
}

// wrong is what goes wrong in one way.
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

// take takes an event that followed a change which somebody meant; false: it is to be shown, as it was
// meant itself, or nobody knows what it followed.
func (f *folds) take(e *event.Event, c *inventory.Change) bool {
	if c == nil || !f.Fold {
		return false
	}
	if !c.IsSignificant() {
		f.settled(e, c)
		return false
	}
	if f.settleEarly(e.Time, false); !c.IntentionalOrWarning && c.CausedBy == nil {
		f.look.inventory.FindCause(c) // what came early may be what it followed
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

// begin has pods that come lead to what follows below a workload that is not watched: the first of them is shown. What
// starts a Job again and again is none.
func (f *folds) begin(e *event.Event, c *inventory.Change) {
	if e.Type != event.Added || e.Object.Kind != "Pod" || c.Root.Group != "apps" || f.watches(c) {
		return
	}
	f.look.inventory.StartUnwatchedCause(c)
	o := c.CausedBy.Entry.Resource
	f.look.resources[o] = o.WithVersion(c.Root.Version)
	f.of(c.CausedBy).count(e, c, f.ShortName(e.Target.Resource()))
}

// watches reports whether objects of the kind of the Root of a change are watched.
func (f *folds) watches(c *inventory.Change) bool {
	return slices.ContainsFunc(f.look.links.All(), func(l *event.WatchState) bool {
		return l.Target.Cluster == c.State.Entry.Cluster && l.Target.Mapping.GroupVersionKind.GroupKind() == c.Root.GroupKind()
	})
}

// add counts an event to what followed.
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

// maxEarly is how many events wait at most for what is above their objects.
const maxEarly = 1000

// isEarly reports whether an object belongs to one that is watched, and is not known yet; or has come, to
// which a change of that may lead that is not known yet; or that nobody has said yet to what it belongs.
func (f *folds) isEarly(e *event.Event, c *inventory.Change) bool {
	return f.waits(c) || // in its order
		len(f.early) < maxEarly && f.mayFollow(e, c)
}

// mayFollow reports whether it may still become known that an event followed a change.
func (f *folds) mayFollow(e *event.Event, c *inventory.Change) bool {
	return c.RootPending || len(c.State.Owners) > 0 && (e.Type == event.Added || !f.look.inventory.Has(c.State.Entry.Cluster, c.Root.UID)) && f.watches(c)
}

// waits reports whether an event of the same object waits.
func (f *folds) waits(c *inventory.Change) bool {
	return slices.ContainsFunc(f.early, func(one early) bool { return one.change.State.Entry == c.State.Entry })
}

// settleEarly takes what has come early once it is known what it followed, and shows what has waited
// for long enough, or all.
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

// superseded says what followed the last change of an object before it is changed again.
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

// count takes what came, what went, and what is not yet as it is to be.
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

// isOpen reports whether an object is not yet as it is to be.
func isOpen(s *inventory.State) bool {
	switch s.Status {
	case kstatus.InProgressStatus, kstatus.FailedStatus, kstatus.TerminatingStatus:
		return true
	}
	return false
}

// settled takes what is not shown: what somebody asks to see may be less than what says how it went.
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

// showWrong shows at once what has gone wrong, if nothing else has in the same way: the others are
// counted.
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
		sign := '~' // it was started again
		if sort != f.ShortName(e.Target.Resource())+" "+restarted || c.State.Status == kstatus.FailedStatus {
			sign = wrongSign(c.State.Status, sign)
		}
		f.wrapped(e.Time, sign, f.subject(e), text, "")
	}
	known.times++
	known.objects[c.State.Entry.ID] = true
}

// restarted is what pods have in common of which a container was.
const restarted = "restarted"

// wentWrong says what is wrong with an object since a change, and what that has in common with others;
// empty if it was so before, or nothing is.
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

// say says what there is to say because time has passed, or all.
func (f *folds) say(now time.Time, all bool) {
	f.settleEarly(now, all)
	for _, g := range f.ordered {
		if g.told < g.changes && (all || f.isDue(g, now)) {
			f.sayFollowed(now, g, f.howFar(g, now))
		}
	}
	f.forget(now)
}

// isDue reports whether it is time to say what followed.
func (f *folds) isDue(g *followed, now time.Time) bool {
	if now.Sub(g.last) >= settles && f.isDone(g) {
		return true
	}
	return now.Sub(g.saidAt) >= max(goesOn, g.saidAt.Sub(g.lead.Time)/3)
}

// isDone reports whether all is as it is to be.
func (f *folds) isDone(g *followed) bool {
	s := f.look.present(g.lead.Entry)
	return len(g.open) == 0 && (s == nil || s.Status == kstatus.CurrentStatus || s.Status == kstatus.UnknownStatus)
}

// forget lets go of what nothing has followed for long.
func (f *folds) forget(now time.Time) {
	f.ordered = slices.DeleteFunc(f.ordered, func(g *followed) bool { return g.told == g.changes && now.Sub(g.last) > forgotten })
	if len(f.ordered) < len(f.all) {
		maps.DeleteFunc(f.all, func(_ *inventory.IntentionalChange, g *followed) bool { return !slices.Contains(f.ordered, g) })
	}
}

// sayFollowed says in one line what followed, and how that ended, or how far it is.
func (f *folds) sayFollowed(now time.Time, g *followed, end string) {
	g.told, g.saidAt = g.changes, now
	text := fmt.Sprintf("%d %s", g.changes, plural(g.changes, "change"))
	if g.lead.IsRollout {
		text = "rollout " + end + "; " + text
	} else {
		text += " followed, " + end
	}
	for _, kind := range f.asAsked(g.kinds) {
		text += "; "
		if n := g.came[kind]; n > 0 {
			text += fmt.Sprintf("+%d ", n)
		}
		if n := g.went[kind]; n > 0 {
			text += fmt.Sprintf("-%d ", n)
		}
		text += kind
	}
	for _, sort := range g.wrongs {
		n := len(g.wrong[sort].objects)
		if strings.HasSuffix(sort, restarted) {
			n = g.wrong[sort].times
		}
		if n > 1 {
			text += fmt.Sprintf("; %s ×%d", clean(sort), n)
		}
	}
	f.wrapped(now, '>', f.look.named(g.lead.Entry), text, "")
}

// asAsked are kinds in the order in which they are watched: that in which they came is chance.
func (f *folds) asAsked(kinds []string) []string {
	targets := f.Targets
	if f.look != nil { // of several clusters they are known by now
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

// after says after how long something was so.
func after(d time.Duration) string {
	if d < time.Second {
		return "within 1 s"
	}
	return "after " + age(d)
}

// howFar says how what followed ended, and how long that took, or since when it has not.
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

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}
