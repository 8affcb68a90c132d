package change

import (
	"encoding/json"
	"slices"
)

// align pairs the items of two lists of which nothing but the position tells them
// apart: along a longest common subsequence, with moves then equal items that have
// moved, then what stands between two common items in its order. It returns for each
// new item the index of the old one, -1 if there is none.
func align(old, new []any, moves bool) []int {
	head, tail := 0, 0
	for head < min(len(old), len(new)) && equal(old[head], new[head]) {
		head++
	}
	for tail < min(len(old), len(new))-head && equal(old[len(old)-1-tail], new[len(new)-1-tail]) {
		tail++
	}
	from := make([]int, len(new))
	for j := range head {
		from[j] = j
	}
	for j := len(new) - tail; j < len(new); j++ {
		from[j] = j - len(new) + len(old)
	}
	middle := alignment{old: old[head : len(old)-tail], new: new[head : len(new)-tail]}
	middle.run(moves)
	for j, i := range middle.from {
		if from[head+j] = i; i >= 0 {
			from[head+j] += head
		}
	}
	return from
}

// alignment pairs items of two lists.
type alignment struct {
	old, new []any
	from     []int  // of each new item the index of the old one, or -1
	taken    []bool // old items that are paired
}

func (a *alignment) run(moves bool) {
	if len(a.old) == 1 && len(a.new) == 1 { // mostly, and what follows takes longest
		a.from = []int{0}
		return
	}
	oldIDs, newIDs := intern(a.old, a.new)
	anchors := longestCommon(oldIDs, newIDs)
	a.from, a.taken = slices.Clone(anchors), make([]bool, len(a.old))
	for _, i := range anchors {
		if i >= 0 {
			a.taken[i] = true
		}
	}
	if moves {
		a.pairMoved(oldIDs, newIDs)
	}
	i, j := 0, 0
	for end, anchor := range anchors {
		if anchor >= 0 {
			a.pairBetween(i, anchor, j, end)
			i, j = anchor+1, end+1
		}
	}
	a.pairBetween(i, len(a.old), j, len(a.new))
}

// pairMoved pairs equal items that are not paired yet.
func (a *alignment) pairMoved(oldIDs, newIDs []int) {
	left := map[int][]int{}
	for i, id := range oldIDs {
		if !a.taken[i] {
			left[id] = append(left[id], i)
		}
	}
	for j, id := range newIDs {
		if at := left[id]; a.from[j] < 0 && len(at) > 0 {
			a.from[j], a.taken[at[0]] = at[0], true
			left[id] = at[1:]
		}
	}
}

// pairBetween pairs in their order what is left of old[i:iEnd] and new[j:jEnd]: as
// many as possible, those that are alike first.
func (a *alignment) pairBetween(i, iEnd, j, jEnd int) {
	var old, new []int
	for ; i < iEnd; i++ {
		if !a.taken[i] {
			old = append(old, i)
		}
	}
	for ; j < jEnd; j++ {
		if a.from[j] < 0 {
			new = append(new, j)
		}
	}
	var from []int
	if len(old)*len(new) <= alikeLimit {
		from = heaviest(len(old), len(new), func(i, j int) int32 { return alike(a.old[old[i]], a.new[new[j]]) })
	} else {
		from = slices.Repeat([]int{-1}, len(new))
		for k := range min(len(old), len(new)) {
			from[k] = k
		}
	}
	for k, i := range from {
		if i >= 0 {
			a.from[new[k]] = old[i]
		}
	}
}

// alikeLimit bounds how many pairs of items are compared.
const alikeLimit = 1 << 10

// alike says how well two items that differ would make a pair, from 1 on.
func alike(old, new any) int32 {
	was, _ := old.(map[string]any)
	is, _ := new.(map[string]any)
	weight := int32(1)
	for name, value := range was {
		if other, there := is[name]; there && equal(value, other) {
			weight += 2
		}
	}
	return weight
}

// intern gives equal items equal numbers.
func intern(old, new []any) (a, b []int) {
	known := map[string]int{}
	number := func(items []any) []int {
		ids := make([]int, len(items))
		for i, item := range items {
			text, _ := json.Marshal(item) // decoded JSON can be encoded
			id, seen := known[string(text)]
			if !seen {
				id = len(known)
				known[string(text)] = id
			}
			ids[i] = id
		}
		return ids
	}
	return number(old), number(new)
}
