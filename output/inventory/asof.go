package inventory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"dwatch/watcher/event"
)

// Since is from when on an Inventory holds what was: of what was before, too much is gone. Zero: from the start.
func EarliestAsOf(i *Inventory) time.Time {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.archive.since()
}

func (a *archive) since() time.Time {
	if a.forgotten.After(a.held) {
		return a.forgotten
	}
	return a.held
}

// AsOf returns what an Inventory holds of a time, with any Options: an Inventory of what there was, and of what had been, by then. It shares
// what States hold, so it takes little, and is to be asked, not delivered to; what becomes of the other one changes nothing
// in it. Drawn is of the view that asks. What was before Since is ErrPast, and an object is missing of which it is not held
// how it was (Lacks).
func AsOf(i *Inventory, t time.Time) (*Inventory, error) {
	o := i.options
	o.FullHistory, o.LookupWarning = true, nil // nobody is asked what was said last by then
	past := New(o, nil)
	i.mu.RLock()
	all := slices.Collect(maps.Values(i.byID))
	past.kinds = maps.Clone(i.kinds)
	i.mu.RUnlock()
	for part := range slices.Chunk(all, chunk) { // others are to come in between
		then := asOf(i, part, t)
		for _, one := range then {
			one.put(past)
		}
	}
	i.mu.RLock()
	since := i.archive.since()
	past.archive.forgotten = i.archive.forgotten
	i.mu.RUnlock()
	if t.Before(since) { // by now, maybe
		return nil, ErrNotRetained
	}
	slices.SortFunc(past.ended, func(a, b *Entry) int { return a.ended.Compare(b.ended) })
	return past, nil
}

func asOf(i *Inventory, some []*Entry, t time.Time) (then []*Entry) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, one := range some {
		if at := one.asOf(t); at != nil {
			then = append(then, at)
		}
	}
	return then
}

// asOf is the object as it was at a time; nil: it had not been seen, or how it was is no longer held. It is called under the lock.
// States before the last one are shared, and their Of is the live object: of that, what never changes may be read.
func (o *Entry) asOf(t time.Time) *Entry {
	n := o.until(t)
	if n == 0 || n < len(o.states) && o.states[n].EvictedSince(o.states[n-1]) > 0 {
		return nil
	}
	then := &Entry{
		ID: o.ID, Cluster: o.Cluster, Resource: o.Resource, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
		FirstSeen: o.FirstSeen, Initial: o.Initial, PredecessorDeleted: o.PredecessorDeleted, states: slices.Clone(o.states[:n]),
	}
	last := *o.states[n-1]
	last.Entry, last.queued = then, nil
	then.states[n-1] = &last
	for k := 1; k < n; k++ {
		then.missing += then.states[k].EvictedSince(then.states[k-1])
	}
	if last.Type == event.Deleted {
		then.ended = last.Time
	}
	return then
}

// put puts an object that was there, or had been, into a new Inventory.
func (o *Entry) put(i *Inventory) {
	i.byID[o.ID] = o
	if other := i.named[o.called()]; other == nil || other.FirstSeen.Before(o.FirstSeen) {
		i.named[o.called()] = o
	}
	if !o.ended.IsZero() {
		i.ended = append(i.ended, o)
	}
}

// Lack is a time of which it is no longer held how some objects of a cluster were: they changed more often than is held.
type HistoryGap struct {
	From, To time.Time
	// Objects is how many, and One of them.
	ObjectCount int
	Example     *Entry
}

// Lacks are all of these since Since, in order; none meets another one of its cluster.
func HistoryGaps(i *Inventory) []HistoryGap { return merged(lacks(i, time.Time{})) }

// LacksAt are those of a time, one for each cluster: of which objects it is not held how they were then.
func HistoryGapsAt(i *Inventory, t time.Time) []HistoryGap { return merged(lacks(i, t)) }

// lacks has one for each object and time, in order; all that there are, or those of a time.
func lacks(i *Inventory, at time.Time) (all []HistoryGap) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	since := i.archive.since()
	for _, o := range i.byID {
		for n := 1; n < len(o.states) && o.missing > 0; n++ {
			from, to := o.states[n-1].Time, o.states[n].Time
			if !to.After(since) || o.states[n].EvictedSince(o.states[n-1]) == 0 {
				continue
			}
			if from.Before(since) {
				from = since
			}
			if at.IsZero() || !from.After(at) && at.Before(to) {
				all = append(all, HistoryGap{from, to, 1, o})
			}
		}
	}
	slices.SortFunc(all, func(a, b HistoryGap) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Example.ID, b.Example.ID))
	})
	return all
}

// merged has those of a cluster that meet as one.
func merged(some []HistoryGap) (all []HistoryGap) {
	last, of := map[string]int{}, map[int]map[*Entry]bool{}
	for _, one := range some {
		n, is := last[one.Example.Cluster]
		if !is || one.From.After(all[n].To) {
			n = len(all)
			last[one.Example.Cluster], of[n] = n, map[*Entry]bool{}
			all = append(all, one)
		}
		of[n][one.Example] = true
		all[n].ObjectCount = len(of[n])
		if one.To.After(all[n].To) {
			all[n].To = one.To
		}
	}
	return all
}

// Count is how many objects an Inventory holds.
func Count(i *Inventory) int {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return len(i.byID)
}

// Find returns the object of an Inventory with an ID; false if it is not held.
func Find(i *Inventory, id string) (*Entry, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	o := i.byID[id]
	return o, o != nil
}
