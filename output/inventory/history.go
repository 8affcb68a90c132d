package inventory

import (
	"container/list"
	"slices"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

const (
	// maxStates is the maximum number of states per object, including the current one.
	maxStates = 100
	// maxArchiveBytes is the memory budget of an archive, and maxFullHistoryBytes the one with Options.FullHistory.
	maxArchiveBytes, maxFullHistoryBytes = 64 << 20, 256 << 20
	// overhead is the approximate size of a state without its content.
	overhead = 600
)

// archive limits the memory of historical states: all states of an object except the first and the current one.
type archive struct {
	bytes, limit int
	states       int             // maximum per object; zero means no limit
	compare      *change.Options // Options.EvictionCompare
	// queue has the historical states in the order in which they were replaced.
	queue list.List
	// completeSince is the time since when no state was evicted because of the budget, or removed with its object. Zero
	// means since the start. Objects with more than the maximum number of states still have gaps.
	completeSince time.Time
	// forgottenUntil is the latest time at which a removed entry existed or was deleted.
	forgottenUntil time.Time
}

func newArchive(o Options) archive {
	if o.FullHistory {
		return archive{limit: maxFullHistoryBytes}
	}
	return archive{limit: maxArchiveBytes, states: maxStates, compare: o.EvictionCompare}
}

// add appends a state, or replaces the current one if onlyNoise is true.
func (o *Entry) add(a *archive, s *State, onlyNoise bool) {
	last := len(o.states) - 1
	if onlyNoise {
		present := o.states[last]
		s.LastNoise = s.Time
		s.Type, s.Time, s.Initial, s.Listed, s.Repeat = present.Type, present.Time, present.Initial, present.Listed, present.Repeat
		s.number = present.number
		o.states[last] = s
		return
	}
	s.number = o.states[last].number + 1
	o.states = append(o.states, s)
	if last > 0 { // the first state is never evicted
		a.push(o.states[last])
	}
	if a.states > 0 && len(o.states) > a.states {
		if a.compare != nil {
			o.countRepeats(*a.compare)
		}
		a.remove(o.leastInformative())
	}
}

// countRepeats sets Repeat of all retained states at the first call, and of the current state at later ones. It is only
// needed for objects that reach the maximum number of states, which is rare.
func (o *Entry) countRepeats(compare change.Options) {
	from := len(o.states) - 1
	if !o.counted {
		from, o.counted = 1, true
	}
	for n := from; n < len(o.states); n++ {
		s, before := o.states[n], o.states[n-1]
		if s.EvictedSince(before) > 0 || s.Type != event.Modified || before.content == nil {
			continue
		}
		e := s.ToEvent(before)
		c := Change{Event: &e, State: s, Before: before}
		if !s.Object.IsEvent() {
			c.Diff = new(DiffStates(before, s, compare))
		}
		s.Repeat = o.countChange(&c)
	}
}

// leastInformative returns the state to evict: the oldest that repeats an earlier change, or else the oldest except the
// first.
func (o *Entry) leastInformative() *State {
	for _, s := range o.states[1 : len(o.states)-1] {
		if s.Repeat.Times > 1 {
			return s
		}
	}
	return o.states[1]
}

// push adds a state that is no longer current, and evicts others if the budget is exceeded.
func (a *archive) push(s *State) {
	a.bytes += s.Size()
	s.queued = a.queue.PushBack(s)
	for a.bytes > a.limit && a.queue.Len() > 0 {
		a.evict(a.queue.Front().Value.(*State))
	}
}

// evict removes a state because of the budget, or with its object. The history is complete only since the next state of
// its object.
func (a *archive) evict(s *State) {
	if next := a.remove(s).Time; next.After(a.completeSince) {
		a.completeSince = next
	}
}

// remove removes a state, which is not the first of its object, and returns the next one.
func (a *archive) remove(s *State) (next *State) {
	a.queue.Remove(s.queued)
	a.bytes -= s.Size()
	at := slices.Index(s.Entry.states, s)
	s.Entry.states = slices.Delete(s.Entry.states, at, at+1)
	s.Entry.evicted++
	return s.Entry.states[at]
}

// drop removes the historical states of an object that the inventory no longer retains.
func (a *archive) drop(o *Entry) {
	for len(o.states) > 2 {
		a.evict(o.states[1])
	}
}

// History is the retained history of an object.
type History struct {
	Entry *Entry
	// States are in order of time. Evicted is the number of evicted states; State.EvictedSince tells where they are
	// missing. States that repeat earlier changes are evicted first.
	States  []*State
	Evicted int
}

// Managers returns the field managers of all retained states, starting with the latest state. A manager whose fields were taken over or
// removed is missing from later states.
func (h History) Managers() (names []string) {
	var looked []string
	for _, s := range slices.Backward(h.States) {
		if len(s.Managers) == 0 || len(looked) > 0 && &looked[0] == &s.Managers[0] { // usually the same interned slice
			continue
		}
		looked = s.Managers
		for _, name := range looked {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// History returns the history of the object with an ID.
func (i *Inventory) History(id string) (History, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	o := i.byID[id]
	if o == nil {
		return History{}, false
	}
	return History{o, slices.Clone(o.states), o.evicted}, true
}
