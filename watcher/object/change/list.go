package change

import "slices"

// deepList is the maximum depth of lists whose items are compared one by one. Comparing reads everything below a list at
// each level, so deeper lists are compared as a whole.
const deepList = 64

func (w *walk) lists(old, new []any) {
	switch {
	case equalLists(old, new):
		return
	case len(w.path) > deepList:
		w.emit(Changed, old, new)
		return
	}
	switch decision, noiseDepth := w.decide(); decision {
	case noise: // do not compare the items, the list may be long
		w.count(w.path[:noiseDepth])
		return
	case skip:
		return
	}
	by := w.fields.identify(w.path, old, new)
	from := by.pair(old, new)
	removed := w.removed(by, old, from)
	stays := increasing(from)
	order := by.kind != byValue || !removed && len(new) == len(old) // for sets, only if no item was added or removed
	for j, i := range from {
		if i < 0 {
			w.withStep(by.step(new, j), func() { w.emit(Added, nil, new[j]) })
			continue
		}
		moved, differs := !stays[j] && order, !equal(old[i], new[j])
		if !moved && !differs {
			continue
		}
		step := by.step(new, j)
		step.Item.oldFields, _ = old[i].(map[string]any)
		if moved {
			w.withStep(step, func() { w.emit(Moved, int64(i), int64(j)) })
		}
		if differs {
			w.withStep(step, func() { w.values(old[i], new[j]) })
		}
	}
}

func (w *walk) withStep(s Step, do func()) {
	w.push(s)
	do()
	w.pop()
}

// removed reports the old items without a new item, and returns whether there are any.
func (w *walk) removed(by identity, old []any, from []int) (any bool) {
	kept := make([]bool, len(old))
	for _, i := range from {
		if i >= 0 {
			kept[i] = true
		}
	}
	for i := range old {
		if !kept[i] {
			any = true
			step := by.step(old, i)
			step.Item.removed = true
			w.withStep(step, func() { w.emit(Removed, old[i], nil) })
		}
	}
	return any
}

// pair returns the index of the old item for each new item, or -1 if there is none.
func (by identity) pair(old, new []any) []int {
	if by.kind == byPosition {
		return align(old, new, true)
	}
	from := make([]int, len(new))
	if slices.Equal(by.old, by.new) {
		for j := range from {
			from[j] = j
		}
		return from
	}
	index := make(map[string]int, len(old))
	for i, id := range by.old {
		index[id] = i
	}
	for j, id := range by.new {
		if i, there := index[id]; there {
			from[j] = i
		} else {
			from[j] = -1
		}
	}
	return from
}
