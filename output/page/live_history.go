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
	// arrives is how long after a time all is here that was seen by then: what comes passes through other stages first.
	arrives = time.Second
	// maxFeed is how many of the last changes before a time are shown with it.
	maxFeed = 5000
)

// seen is a past: what a Hub has seen since it began, and still holds. To show a time of it takes little: what is held is
// shared with the present.
type liveHistory struct{ *Hub }

// arrived implements rewinder. What comes later nevertheless has the Hub lapse.
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
		into.inventory = past
		s.redraw(into, at)
	}
	into.isExpired = func() bool { return err == nil && at.Before(inventory.EarliestAsOf(s.inventory)) || isLate() }
	return s.known(at), nil
}

// maxLate is of how many events that came late it is known how late.
const maxLate = 1000

// late are the times of events that came after a time had been shown at which they had been seen already: stages before have held
// them up. The zero value is ready.
type lateEvents struct {
	mu    sync.Mutex
	shown time.Time // the last that was
	all   []time.Time
	gone  int // how many more there were, before all
}

// since returns what reports whether an event has come since then that changes what is shown of a time.
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

// observe takes events that are in their place by now.
func (l *lateEvents) observe(batch []event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		e := &batch[i]
		from := e.Time
		if !e.Heard.IsZero() { // since when nothing is known
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

// settle returns when what had come to a Hub is in its place.
func settle(h *Hub) {
	h.delivering.Lock()
	defer h.delivering.Unlock()
}

// endOf is the last moment of a millisecond: viewers know no less.
func endOf(t time.Time) time.Time { return t.Truncate(time.Millisecond).Add(time.Millisecond - 1) }

// redraw draws another Hub as this one was at a time, of which it has the inventory.
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
	there, _ := into.inventory.ListAt(inventory.Now, nil) // of now it is known
	all := append(there, into.inventory.ListDeleted()...)
	for part := range slices.Chunk(all, maxRows) {
		s.redrawRows(into.inventory, part, millis(at))
	}
}

// redrawRows draws some objects of the past, but for their rows, as they are drawn now.
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
		d.segmentsMore, d.ticksMore = then.StatusChangeCount-len(d.segments), then.ChangeCount-len(d.ticks)
		then.Entry.ViewData = d
	}
}

// courseOf takes over the course of time up to a time, as far as it still is drawn.
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

// addHeld puts the course of time before what is drawn of it, as the states say that are held of that without a hole.
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

// joined are the last of what is drawn, and before it of what was earlier.
func joined[T any](earlier, drawn []T, limit int, at func(T) int64) []T {
	if len(drawn) > 0 {
		first := at(drawn[0])
		earlier = slices.DeleteFunc(earlier, func(one T) bool { return at(one) >= first })
	}
	all := append(earlier, drawn...)
	return all[max(len(all)-limit, 0):]
}

// then is drawn with the row of an object of the past, which has none: most are never looked at twice.
func (d *rowView) then(h *Hub) *rowView {
	s, whole := d.state, *d
	if history, held := h.inventory.History(s.Entry.ID); held {
		whole.by = history.Managers()
	}
	r := h.resource(s.Target)
	row := rowOf(s, r, &whole, 0)
	if own := s.Columns(); h.Clusters == nil && len(row.Cells) > 0 && (len(r.Columns) == 0 || &own[0] != &r.Columns[0]) {
		row.Cells = nil // those of other columns, which the resource had then
	}
	if s.Type == event.Deleted {
		row.Ended = millis(s.Time)
	}
	whole.row = encode(row)
	return &whole
}

// known is what is known of a time, and of all since the start. Of what is before that, or no longer held, nothing is.
func (s liveHistory) known(at time.Time) Coverage {
	k := s.knownSince()
	if forgotten := inventory.EarliestAsOf(s.inventory); at.Before(forgotten) {
		k.Gaps = append(k.Gaps, Gap{From: k.CompleteSince, To: forgotten, Reason: "no longer held: too much has happened since, or something is no longer watched"})
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

// addLacks adds the times of which it is not held how objects were, and leaves out what is before all that can be chosen.
func (k *Coverage) addLacks(s liveHistory) {
	k.Gaps = append(k.Gaps, gapsOfLacks(inventory.HistoryGaps(s.inventory))...)
	k.Gaps = slices.DeleteFunc(k.Gaps, func(g Gap) bool { return !g.To.After(k.From) })
	k.sort()
}

func gapsOfLacks(lacks []inventory.HistoryGap) (all []Gap) {
	for _, l := range lacks {
		why := "how " + l.Example.Resource.Resource + "/" + l.Example.Name + " was is not held: it changed too often"
		if l.ObjectCount > 1 {
			why = fmt.Sprintf("how %d objects were, such as %s/%s, is not held: they changed too often", l.ObjectCount, l.Example.Resource.Resource, l.Example.Name)
		}
		all = append(all, Gap{Cluster: l.Example.Cluster, From: l.From, To: l.To, Reason: why})
	}
	return all
}

func (k *Coverage) sort() {
	slices.SortStableFunc(k.Gaps, func(a, b Gap) int { return a.From.Compare(b.From) })
}

// knownSince is since when something is known until now, and when not all was seen.
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

// held says which times can be shown besides the present, and of which of these not all is known by now.
func (s liveHistory) held() *pastMessage {
	k := s.knownSince()
	k.addLacks(s)
	return k.message(time.Time{}, true)
}

// readWithin is within which time after the start all is mostly read: what can be shown begins with that.
const readWithin = time.Minute

// read is when all had been read, by the gaps since the start; zero: that took too long for it to be waited for, or is not so.
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

// maxNamed is how many resources are named that were not seen at the same time.
const maxNamed = 3

// gaps are when not all of the targets was seen, from a time until now, those of the same cluster that meet as one.
func (ts *targets) gaps(from, now time.Time) (all []Gap) {
	if ts.outages.forgotten.After(from) {
		all = append(all, Gap{From: from, To: ts.outages.forgotten, Reason: "when what was not seen is no longer held"})
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

// silent are the clusters of which nothing has been seen.
func (ts *targets) silent(from, now time.Time) (all []Gap) {
	for _, s := range ts.clusterStates() {
		isOf := func(l *event.WatchState) bool { return l.Target.Cluster == s.Name }
		if !slices.ContainsFunc(ts.links.All(), isOf) && s.Phase != event.PhaseLive {
			all = append(all, Gap{Cluster: s.Name, From: from, To: now.Add(time.Millisecond), Reason: "it has not answered yet"})
		}
	}
	return all
}

// linkAsOf has the targets be linked as others were at a time.
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

// outageAt is the time around another one in which a target was not seen; false: it was.
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
