package page

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

const (
	// arrives is how long events may take to pass through other stages before they reach the Hub.
	arrives = time.Second
	// maxFeed is the maximum number of feed messages at a time of the past. The latest are shown.
	maxFeed = 5000
)

// liveHistory is a rewinder for the retained history of a live Hub. The Hubs that it fills share the retained states with
// the live Hub, so they need little memory.
type liveHistory struct{ *Hub }

// arrived implements rewinder. If events arrive even later, the Hub for that time expires.
func (s liveHistory) arrived(ctx context.Context, at time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(at.Add(arrives))):
		return nil
	}
}

// rewind implements rewinder.
func (s liveHistory) rewind(_ context.Context, at time.Time, into *Hub) (Coverage, error) {
	at = endOf(at)
	isLate := s.late.since(at)
	settle(s.Hub)
	past, err := inventory.AsOf(s.inventory, at)
	if err == nil {
		past.Refresh(at)
		into.inventory = past
		s.redraw(into, at)
	}
	into.isExpired = func() bool { return err == nil && at.Before(inventory.EarliestAsOf(s.inventory)) || isLate() }
	return s.known(at), nil
}

// maxLate is the maximum number of late events whose times are retained.
const maxLate = 1000

// lateEvents has the times of events that arrived late: after a later time had been shown. Stages before the Hub may delay
// events. The zero value is ready to use.
type lateEvents struct {
	mu    sync.Mutex
	shown time.Time // the latest time that was shown
	all   []time.Time
	gone  int // number of earlier times that were dropped from all
}

// since registers that a time is shown. isLate reports whether an event for that time or an earlier one has arrived since
// then.
func (l *lateEvents) since(shown time.Time) (isLate func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if shown.After(l.shown) {
		l.shown = shown
	}
	known := l.gone + len(l.all)
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return known < l.gone || slices.ContainsFunc(l.all[known-l.gone:], func(t time.Time) bool { return !t.After(shown) })
	}
}

// observe registers events after their delivery to the inventory.
func (l *lateEvents) observe(batch []event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		e := &batch[i]
		from := e.Time
		if !e.Heard.IsZero() { // an outage began at Heard
			from = e.Heard
		}
		if e.Type.IsKeepalive() || from.After(l.shown) {
			continue
		}
		if len(l.all) == maxLate {
			l.all, l.gone = slices.Clone(l.all[1:]), l.gone+1
		}
		l.all = append(l.all, from)
	}
}

// settle waits for the delivery of events that is running.
func settle(h *Hub) {
	h.delivering.Lock()
	defer h.delivering.Unlock()
}

// endOf returns the last nanosecond of the millisecond of t. Viewers choose times in milliseconds.
func endOf(t time.Time) time.Time { return t.Truncate(time.Millisecond).Add(time.Millisecond - 1) }

// redraw fills into, which already has the inventory of a time, with the resources, targets, feed and rows of that time.
func (s liveHistory) redraw(into *Hub, at time.Time) {
	s.mu.Lock()
	into.resources, into.log.last, into.log.cut = maps.Clone(s.resources), s.log.last, s.log.cut
	entries := slices.Clone(s.log.entries)
	into.targets.linkAsOf(&s.targets, at)
	s.mu.Unlock()
	for _, e := range entries {
		if e.feed && gjson.GetBytes(e.head, "time").Int() <= millis(at) {
			into.log.entries = append(into.log.entries, e)
		}
	}
	if more := len(into.log.entries) - maxFeed; more > 0 {
		into.log.entries, into.log.cut = slices.Clone(into.log.entries[more:]), true
	}
	there, _ := into.inventory.ListAt(inventory.Now, nil) // Now is always valid
	all := append(there, into.inventory.ListDeleted()...)
	for part := range slices.Chunk(all, maxRows) {
		s.redrawRows(into.inventory, part, millis(at))
	}
}

// redrawRows creates the row views of some states of the past. It copies their segments and ticks from the live row views.
// The encoded rows are left empty: see rowView.then.
func (s liveHistory) redrawRows(into *inventory.Inventory, states []*inventory.State, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, then := range states {
		d := &rowView{state: then, changes: then.ChangeCount, changed: millis(then.LastChanged)}
		if now, held := inventory.Find(s.inventory, then.Entry.ID); held && now.FirstSeen.Equal(then.Entry.FirstSeen) {
			if now, is := now.ViewData.(*rowView); is {
				d.courseOf(now, at)
			}
		}
		if len(d.segments) < then.StatusChangeCount || len(d.ticks) < then.ChangeCount {
			d.addHeld(into)
		}
		d.segmentsMore, d.ticksMore = max(then.StatusChangeCount-len(d.segments), 0), then.ChangeCount-len(d.ticks)
		then.Entry.ViewData = d
	}
}

// courseOf copies the segments and ticks up to a time from the live row view.
func (d *rowView) courseOf(now *rowView, at int64) {
	d.about = now.about
	for _, one := range now.segments {
		if one.from <= at {
			d.segments = append(d.segments, one)
		}
	}
	for _, tick := range now.ticks {
		if tick <= at {
			d.ticks = append(d.ticks, tick)
		}
	}
}

// addHeld prepends segments and ticks from the retained states since the last evicted one.
func (d *rowView) addHeld(past *inventory.Inventory) {
	history, _ := past.History(d.state.Entry.ID)
	all := history.States
	for n := len(all) - 1; n > 0; n-- {
		if all[n].EvictedSince(all[n-1]) > 0 {
			all = all[n:]
			break
		}
	}
	earlier := &rowView{}
	for n, s := range all {
		if s.Type != event.Deleted {
			earlier.enter(millis(s.Time), statusOf(s).State)
		}
		if s.LastChanged.Equal(s.Time) && (n == 0 || s.ChangeCount > all[n-1].ChangeCount) {
			earlier.tick(millis(s.LastChanged))
		}
	}
	d.segments = joined(earlier.segments, d.segments, maxSegments, func(s segment) int64 { return s.from })
	d.ticks = joined(earlier.ticks, d.ticks, maxTicks, func(at int64) int64 { return at })
}

// joined returns the last elements, at most limit, of earlier and drawn. It drops elements of earlier that are not before
// the first of drawn.
func joined[T any](earlier, drawn []T, limit int, at func(T) int64) []T {
	if len(drawn) > 0 {
		first := at(drawn[0])
		earlier = slices.DeleteFunc(earlier, func(one T) bool { return at(one) >= first })
	}
	all := append(earlier, drawn...)
	return all[max(len(all)-limit, 0):]
}

// then returns a copy of d with the encoded row of a state of the past. It is not stored, because most rows are needed only
// once.
func (d *rowView) then(h *Hub) *rowView {
	s, whole := h.inventory.WithOwned(d.state, h.clock()), *d
	if history, held := h.inventory.History(s.Entry.ID); held {
		whole.by = history.Managers()
	}
	r := h.resource(s.Target)
	row := rowOf(s, r, &whole, 0)
	if own := s.Columns(); h.Clusters == nil && len(row.Cells) > 0 && (len(r.Columns) == 0 || &own[0] != &r.Columns[0]) {
		row.Cells = nil // the resource had other columns then
	}
	if s.Type == event.Deleted {
		row.Ended = millis(s.Time)
	}
	whole.row = encode(row)
	return &whole
}

// known returns the coverage since the start, and the gaps that affect a time. Times before the start, and times whose
// states are no longer retained, are gaps.
func (s liveHistory) known(at time.Time) Coverage {
	k := s.knownSince()
	if forgotten := inventory.EarliestAsOf(s.inventory); at.Before(forgotten) {
		k.Gaps = append(k.Gaps, Gap{From: k.CompleteSince, To: forgotten, Reason: "no longer retained: too much has happened since, or something is no longer watched"})
	}
	if at.Before(k.CompleteSince) {
		k.Gaps = append(k.Gaps, Gap{From: at, To: k.CompleteSince, Reason: "before dwatch was started"})
	}
	k.sort()
	for _, g := range k.Gaps {
		if !g.From.After(at) && at.Before(g.To) {
			k.StateGapsAtTime = append(k.StateGapsAtTime, g)
		}
	}
	k.StateGapsAtTime = append(k.StateGapsAtTime, gapsOfLacks(inventory.HistoryGapsAt(s.inventory, at))...)
	k.addLacks(s)
	return k
}

// addLacks adds gaps for the evicted states of objects, and removes all gaps that end before k.From.
func (k *Coverage) addLacks(s liveHistory) {
	k.Gaps = append(k.Gaps, gapsOfLacks(inventory.HistoryGaps(s.inventory))...)
	k.Gaps = slices.DeleteFunc(k.Gaps, func(g Gap) bool { return !g.To.After(k.From) })
	k.sort()
}

func gapsOfLacks(lacks []inventory.HistoryGap) (all []Gap) {
	for _, l := range lacks {
		why := "some states of " + l.Example.Resource.Resource + "/" + l.Example.Name + " are no longer retained: it changed too often"
		if l.ObjectCount > 1 {
			why = fmt.Sprintf("some states of %d objects, such as %s/%s, are no longer retained: they changed too often", l.ObjectCount, l.Example.Resource.Resource, l.Example.Name)
		}
		all = append(all, Gap{Cluster: l.Example.Cluster, From: l.From, To: l.To, Reason: why})
	}
	return all
}

func (k *Coverage) sort() {
	slices.SortStableFunc(k.Gaps, func(a, b Gap) int { return a.From.Compare(b.From) })
}

// knownSince returns the coverage until now, with gaps for outages but none for evicted states.
func (s liveHistory) knownSince() Coverage {
	since := inventory.EarliestAsOf(s.inventory)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := Coverage{CompleteSince: s.started, From: s.started, To: s.clock()}
	if since.After(k.From) {
		k.From = since
	}
	k.Gaps = s.targets.gaps(k.From, k.To)
	if begin := s.targets.read(k.Gaps); begin.After(k.From) {
		k.From = begin
	}
	if s.Clusters != nil {
		k.Clusters = event.ClusterNames(s.Clusters())
	}
	return k
}

// held returns the past times that can be shown, and all gaps in them.
func (s liveHistory) held() *pastMessage {
	k := s.knownSince()
	k.addLacks(s)
	return k.message(time.Time{}, true)
}

// readWithin is the maximum duration of the initial lists. The times that can be shown begin after them.
const readWithin = time.Minute

// read returns the end of the initial lists: the latest end of a gap that begins at the start. It returns zero if they took
// longer than readWithin.
func (ts *targets) read(gaps []Gap) time.Time {
	end := ts.started
	for _, g := range gaps {
		if !g.From.After(ts.started) && g.To.After(end) {
			end = g.To
		}
	}
	if end.Sub(ts.started) > readWithin {
		return time.Time{}
	}
	return end
}

// maxNamed is the maximum number of resources that the reason of a gap names.
const maxNamed = 3

// gaps returns the gaps of all targets from a time until now. Gaps of a cluster that have the same reason and overlap are
// merged.
func (ts *targets) gaps(from, now time.Time) (all []Gap) {
	if ts.outages.forgotten.After(from) {
		all = append(all, Gap{From: from, To: ts.outages.forgotten, Reason: "earlier gaps are no longer known"})
	}
	outages := slices.Clone(ts.outages.ended)
	for _, l := range ts.links.All() {
		if !isCovered(l.Phase()) {
			outages = append(outages, outage{l.Target, ts.outages.openSince[l.Target.Key()], now.Add(time.Millisecond), l.Phase()})
		}
	}
	slices.SortStableFunc(outages, func(a, b outage) int { return a.from.Compare(b.from) })
	type kind struct{ cluster, why string }
	last, names := map[kind]int{}, map[int][]string{}
	for _, o := range outages {
		of := kind{o.target.Cluster, o.reason()}
		if o.from.IsZero() {
			o.from = ts.started
		}
		if o.from.Before(from) {
			o.from = from
		}
		if !o.from.Before(o.to) {
			continue
		}
		n, is := last[of]
		if !is || o.from.After(all[n].To) {
			n = len(all)
			last[of], all = n, append(all, Gap{Cluster: o.target.Cluster, From: o.from, To: o.to, Reason: of.why})
		}
		if o.to.After(all[n].To) {
			all[n].To = o.to
		}
		if name := o.target.Resource().GroupResource().String(); !slices.Contains(names[n], name) {
			names[n] = append(names[n], name)
		}
	}
	for n, of := range names {
		text := strings.Join(of[:min(len(of), maxNamed)], ", ")
		if more := len(of) - maxNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		all[n].Reason = text + ": " + all[n].Reason
	}
	return append(all, ts.silent(from, now)...)
}

// silent returns a gap for each cluster that has never answered.
func (ts *targets) silent(from, now time.Time) (all []Gap) {
	for _, s := range ts.clusterStates() {
		isOf := func(l *event.WatchState) bool { return l.Target.Cluster == s.Name }
		if !slices.ContainsFunc(ts.links.All(), isOf) && s.Phase != event.PhaseLive {
			all = append(all, Gap{Cluster: s.Name, From: from, To: now.Add(time.Millisecond), Reason: "it has not answered yet"})
		}
	}
	return all
}

// linkAsOf sets the watch states to those that others had at a time.
func (ts *targets) linkAsOf(others *targets, at time.Time) {
	ts.started = others.started
	for _, l := range others.links.All() {
		mark := event.Event{Type: event.Synced, Target: l.Target, Time: others.started, Count: l.Count}
		switch o, was := others.outageAt(l, at); {
		case was && o.from.IsZero():
			mark.Type = event.Joined
		case was:
			mark.Type, mark.Time, mark.Heard = event.Disconnected, o.from, o.from
		}
		ts.observe(&mark)
	}
}

// outageAt returns the outage of a target that contains a time. It returns false if the target was covered then.
func (ts *targets) outageAt(l *event.WatchState, at time.Time) (outage, bool) {
	key := l.Target.Key()
	if began := ts.outages.openSince[key]; !isCovered(l.Phase()) && !began.After(at) {
		return outage{l.Target, began, at, l.Phase()}, true
	}
	for _, o := range ts.outages.ended {
		if o.target.Key() == key && !o.from.After(at) && at.Before(o.to) {
			return o, true
		}
	}
	return outage{}, false
}
