package inventory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"dwatch/watcher/event"
)

// EarliestAsOf returns the earliest time that AsOf accepts. Zero means any time since the start.
func EarliestAsOf(i *Inventory) time.Time {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.archive.earliest()
}

func (a *archive) earliest() time.Time {
	if a.forgottenUntil.After(a.completeSince) {
		return a.forgottenUntil
	}
	return a.completeSince
}

// AsOf returns an Inventory with the objects of i as they were at a time, including those that had been deleted by then.
// It does not need Options.FullHistory, but can't be used with WithoutContent. The result shares the content of states and
// so needs little memory. It can be queried, but must not be delivered to. Later changes of i do not affect it. Its entries
// have their own ViewData.
//
// AsOf returns ErrNotRetained for times before EarliestAsOf. Objects whose state at the time was evicted are missing:
// see HistoryGapsAt.
func AsOf(i *Inventory, t time.Time) (*Inventory, error) {
	o := i.options
	o.FullHistory, o.LookupWarning = true, nil // a lookup would return the current Warning
	past := New(o, nil)
	i.mu.RLock()
	all := slices.Collect(maps.Values(i.byID))
	past.kinds = maps.Clone(i.kinds)
	i.mu.RUnlock()
	for part := range slices.Chunk(all, chunk) { // release the lock between chunks
		then := asOf(i, part, t)
		for _, one := range then {
			one.addTo(past)
		}
	}
	i.mu.RLock()
	since := i.archive.earliest()
	past.archive.forgottenUntil = i.archive.forgottenUntil
	i.mu.RUnlock()
	if t.Before(since) { // possibly since the call began
		return nil, ErrNotRetained
	}
	slices.SortFunc(past.deleted, func(a, b *Entry) int { return a.deleted.Compare(b.deleted) })
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

// asOf returns the entry as it was at a time, or nil if it had not been seen or its state was evicted. It requires Inventory.mu to be
// held. It copies only the last state. The other states are shared, and their Entry is the live one: only its immutable fields may be
// read.
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
		then.evicted += then.states[k].EvictedSince(then.states[k-1])
	}
	if last.Type == event.Deleted {
		then.deleted = last.Time
	}
	return then
}

// addTo adds an entry to a new Inventory.
func (o *Entry) addTo(i *Inventory) {
	i.byID[o.ID] = o
	if other := i.byName[o.name()]; other == nil || other.FirstSeen.Before(o.FirstSeen) {
		i.byName[o.name()] = o
	}
	if !o.deleted.IsZero() {
		i.deleted = append(i.deleted, o)
	}
}

// HistoryGap is an interval for which states of some objects of a cluster were evicted, because they changed too often.
type HistoryGap struct {
	From, To time.Time
	// ObjectCount is the number of objects, and Example is one of them.
	ObjectCount int
	Example     *Entry
}

// HistoryGaps returns all gaps since EarliestAsOf in order. The gaps of a cluster do not overlap.
func HistoryGaps(i *Inventory) []HistoryGap { return mergeGaps(findGaps(i, time.Time{})) }

// HistoryGapsAt returns the gaps that contain a time: at most one per cluster.
func HistoryGapsAt(i *Inventory, t time.Time) []HistoryGap { return mergeGaps(findGaps(i, t)) }

// findGaps returns the gaps of each object in order. If at is not zero, it only returns the gaps that contain that time.
func findGaps(i *Inventory, at time.Time) (all []HistoryGap) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	since := i.archive.earliest()
	for _, o := range i.byID {
		for n := 1; n < len(o.states) && o.evicted > 0; n++ {
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

// mergeGaps merges overlapping gaps of a cluster.
func mergeGaps(some []HistoryGap) (all []HistoryGap) {
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

// Count returns the number of entries in an Inventory, including deleted ones.
func Count(i *Inventory) int {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return len(i.byID)
}

// Find returns the entry with an ID.
func Find(i *Inventory, id string) (*Entry, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	o := i.byID[id]
	return o, o != nil
}
