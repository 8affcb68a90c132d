package inventory

import (
	"container/list"
	"slices"
)

const (
	// maxStates is how many states of one object are held, the present one among them.
	maxStates = 100
	// maxHistory is how many bytes those of an archive may take together.
	maxHistory = 64 << 20
	// overhead is about what a state takes beside its content.
	overhead = 600
)

// archive bounds what all states take that are neither the first nor the present one of an object.
type archive struct {
	bytes, limit int
	// queue has these states, in the order in which others took their place.
	queue list.List
}

// add appends a state; if quiet, nothing that counts has changed, and it replaces the present one.
func (o *Object) add(a *archive, s *State, quiet bool) {
	last := len(o.states) - 1
	if quiet {
		present := o.states[last]
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
	if len(o.states) > maxStates {
		a.remove(o.dullest())
	}
}

// dullest is the state that is missed least: the oldest that says what another one said before it,
// or else the oldest, but for the first.
func (o *Object) dullest() *State {
	for _, s := range o.states[1 : len(o.states)-1] {
		if s.Repeat.Times > 1 {
			return s
		}
	}
	return o.states[1]
}

// push takes a state that is no longer the present one, and makes room for it.
func (a *archive) push(s *State) {
	a.bytes += s.size()
	s.queued = a.queue.PushBack(s)
	for a.bytes > a.limit && a.queue.Len() > 0 {
		a.remove(a.queue.Front().Value.(*State))
	}
}

// remove drops a state from its object, which is not the first.
func (a *archive) remove(s *State) {
	a.queue.Remove(s.queued)
	a.bytes -= s.size()
	at := slices.Index(s.Of.states, s)
	s.Of.states = slices.Delete(s.Of.states, at, at+1)
	s.Of.missing++
}

func (a *archive) drop(o *Object) {
	for len(o.states) > 2 {
		a.remove(o.states[1])
	}
}

// History is how an object came to be what it is.
type History struct {
	Object *Object
	// States are in order of time. Missing of them, behind the first, are no longer held: with
	// Options.Compare mostly such as say what another one said before. State.Missing says where.
	States  []*State
	Missing int
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
