package inventory

import (
	"container/list"
	"slices"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

const (
	// maxStates is how many states of one object are held, the present one among them.
	maxStates = 100
	// maxHistory is how many bytes those of an archive may take together, and maxPast those of what was,
	// where that is what is asked for.
	maxHistory, maxPast = 64 << 20, 256 << 20
	// overhead is about what a state takes beside its content.
	overhead = 600
)

// archive bounds what all states take that are neither the first nor the present one of an object.
type archive struct {
	bytes, limit int
	states       int             // how many of one object are held at most; 0: as many as have room
	alike        *change.Options // as Options.Alike
	// queue has these states, in the order in which others took their place.
	queue list.List
	// held is since when all is, but for what objects with more than so many states lack; zero: since the start.
	held time.Time
	// forgotten is until when objects were there or deleted that are no longer held.
	forgotten time.Time
}

func archiveOf(o Options) archive {
	if o.FullHistory {
		return archive{limit: maxPast}
	}
	return archive{limit: maxHistory, states: maxStates, alike: o.EvictionCompare}
}

// add appends a state; if quiet, nothing that counts has changed, and nothing of what is seen at a glance, and it replaces
// the present one.
func (o *Entry) add(a *archive, s *State, quiet bool) {
	last := len(o.states) - 1
	if quiet {
		present := o.states[last]
		s.LastNoise = s.Time
		s.Type, s.Time, s.Initial, s.Listed, s.Repeat = present.Type, present.Time, present.Initial, present.Listed, present.Repeat
		s.number = present.number
		o.states[last] = s
		return
	}
	s.number = o.states[last].number + 1
	o.states = append(o.states, s)
	if last > 0 { // with the first the changes begin: it stays
		a.push(o.states[last])
	}
	if a.states > 0 && len(o.states) > a.states {
		if a.alike != nil {
			o.count(*a.alike)
		}
		a.remove(o.dullest())
	}
}

// count finds which states say what another one said before: of all that are held, and from then on of
// the present one. Most objects never have so many.
func (o *Entry) count(compare change.Options) {
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
		s.Repeat = o.repeated(&c)
	}
}

// dullest is the state that is missed least: the oldest that says what another one said before it,
// or else the oldest, but for the first.
func (o *Entry) dullest() *State {
	for _, s := range o.states[1 : len(o.states)-1] {
		if s.Repeat.Times > 1 {
			return s
		}
	}
	return o.states[1]
}

// push takes a state that is no longer the present one, and makes room for it.
func (a *archive) push(s *State) {
	a.bytes += s.Size()
	s.queued = a.queue.PushBack(s)
	for a.bytes > a.limit && a.queue.Len() > 0 {
		a.cut(a.queue.Front().Value.(*State))
	}
}

// cut removes a state for the sake of all: what was until it had its place taken is no longer held.
func (a *archive) cut(s *State) {
	if next := a.remove(s).Time; next.After(a.held) {
		a.held = next
	}
}

// remove drops a state from its object, which is not the first, and returns the one behind it.
func (a *archive) remove(s *State) (next *State) {
	a.queue.Remove(s.queued)
	a.bytes -= s.Size()
	at := slices.Index(s.Entry.states, s)
	s.Entry.states = slices.Delete(s.Entry.states, at, at+1)
	s.Entry.missing++
	return s.Entry.states[at]
}

func (a *archive) drop(o *Entry) {
	for len(o.states) > 2 {
		a.cut(o.states[1])
	}
}

// History is how an object came to be what it is.
type History struct {
	Entry *Entry
	// States are in order of time. Missing of them, behind the first, are no longer held: with
	// Options.Compare or Alike mostly such as say what another one said before. State.Missing says where.
	States  []*State
	Evicted int
}

// Managers names who has set fields of the object in a state that is held, those of the last one first: who had
// its fields taken over, or taken away, has none in that.
func (h History) Managers() (names []string) {
	var looked []string
	for _, s := range slices.Backward(h.States) {
		if len(s.Managers) == 0 || len(looked) > 0 && &looked[0] == &s.Managers[0] { // mostly it is the same
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

// History returns that of the object with an ID; false if it is not held.
func (i *Inventory) History(id string) (History, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	o := i.byID[id]
	if o == nil {
		return History{}, false
	}
	return History{o, slices.Clone(o.states), o.missing}, true
}
