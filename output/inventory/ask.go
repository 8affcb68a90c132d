package inventory

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
)

// Now is the time of the present.
var Now time.Time

// ErrPast means that what was is asked for, which is not recorded.
var ErrPast = errors.New("only what is there now is known, and not what was there at another time")

// At returns the objects of a time of which keep (nil: always) returns true, in Order.
func (i *Inventory) At(t time.Time, keep func(*State) bool) ([]*State, error) {
	if !t.Equal(Now) {
		return nil, ErrPast
	}
	i.mu.RLock()
	all := make([]*State, 0, len(i.byID))
	for _, o := range i.byID {
		if o.ended.IsZero() {
			all = append(all, o.state())
		}
	}
	i.mu.RUnlock()
	if keep != nil {
		all = slices.DeleteFunc(all, func(s *State) bool { return !keep(s) })
	}
	slices.SortFunc(all, Order)
	return all, nil
}

// Problems are what needs a look now: what has failed first, of those the newest first. Of so many of
// them the causes are looked for, which takes time; o says how they are compared and masked.
func (i *Inventory) Problems(now time.Time, causes int, o change.Options) []Problem {
	i.mu.Lock()
	all := i.wrong.problems(now, i.upFrom)
	for n := range all {
		all[n].Resource = i.kinds[all[n].Root.GroupKind()]
	}
	i.mu.Unlock()
	i.causes.find(all[:min(len(all), causes)], i.statesOf, o)
	return all
}

func (i *Inventory) statesOf(o *Object) []*State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return slices.Clone(o.states)
}

// Ended returns the last states of the deleted objects that are held, the first deleted first.
func (i *Inventory) Ended() []*State {
	i.mu.RLock()
	defer i.mu.RUnlock()
	all := make([]*State, len(i.ended))
	for n, o := range i.ended {
		all[n] = o.state()
	}
	return all
}

// Owned returns the objects that are there and name the one with a UID as an owner, sorted.
func (i *Inventory) Owned(uid types.UID) []*State {
	if uid == "" {
		return nil
	}
	owned, _ := i.At(Now, func(s *State) bool { // of now it is known
		return slices.ContainsFunc(s.Owners, func(o owner.Owner) bool { return o.UID == uid })
	})
	return owned
}

// Present returns the states of those of the objects with these IDs that are there.
func (i *Inventory) Present(ids []string) (all []*State) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, id := range ids {
		if o := i.byID[id]; o != nil && o.ended.IsZero() {
			all = append(all, o.state())
		}
	}
	return all
}
