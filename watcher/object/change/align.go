package change

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// align pairs the items of two lists by position. It pairs the items of a longest common subsequence, then, if moves is
// true, equal items that have moved, then the remaining items between two common items, in order. It returns the index
// of the old item for each new item, or -1 if there is none.
func align(old, new []any, moves bool) []int {
	head, tail := 0, 0
	for head < min(len(old), len(new)) && equal(old[head], new[head]) {
		head++
	}
	for tail < min(len(old), len(new))-head && equal(old[len(old)-1-tail], new[len(new)-1-tail]) {
		tail++
	}
	a := alignment{old: old[head : len(old)-tail], new: new[head : len(new)-tail]}
	if len(a.old) == 1 && len(a.new) == 1 { // the most frequent case, without the expensive search
		a.from = []int{0}
	} else {
		a.run(moves)
	}
	from := make([]int, len(new))
	for j := range from {
		switch {
		case j < head:
			from[j] = j
		case j >= len(new)-tail:
			from[j] = j - len(new) + len(old)
		case a.from[j-head] >= 0:
			from[j] = a.from[j-head] + head
		default:
			from[j] = -1
		}
	}
	return from
}

type alignment struct {
	old, new []any
	from     []int  // index of the old item for each new item, or -1
	taken    []bool // which old items are paired
}

func (a *alignment) run(moves bool) {
	was, is := texts(a.old), texts(a.new)
	gaps := lcs.DiffLines(was, is)
	a.from, a.taken = make([]int, len(a.new)), make([]bool, len(a.old))
	i, j := 0, 0
	for _, gap := range append(gaps, lcs.Diff{ReplStart: len(a.new), ReplEnd: len(a.new)}) {
		for ; j < gap.ReplStart; i, j = i+1, j+1 {
			a.from[j], a.taken[i] = i, true
		}
		for ; j < gap.ReplEnd; j++ {
			a.from[j] = -1
		}
		i = gap.End
	}
	if moves {
		a.pairMoved(was, is)
	}
	for _, gap := range gaps {
		a.pairBetween(gap)
	}
}

func texts(items []any) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = encodeText(item)
	}
	return texts
}

// pairMoved pairs equal items that are not paired yet.
func (a *alignment) pairMoved(was, is []string) {
	left := map[string][]int{}
	for i, text := range was {
		if !a.taken[i] {
			left[text] = append(left[text], i)
		}
	}
	for j, text := range is {
		if at := left[text]; a.from[j] < 0 && len(at) > 0 {
			a.from[j], a.taken[at[0]] = at[0], true
			left[text] = at[1:]
		}
	}
}

// pairBetween pairs the remaining items of a gap in their order. It pairs as many as possible and prefers similar ones.
func (a *alignment) pairBetween(gap lcs.Diff) {
	var old, new []int
	for i := gap.Start; i < gap.End; i++ {
		if !a.taken[i] {
			old = append(old, i)
		}
	}
	for j := gap.ReplStart; j < gap.ReplEnd; j++ {
		if a.from[j] < 0 {
			new = append(new, j)
		}
	}
	if len(old)*len(new) > alikeLimit {
		for k := range min(len(old), len(new)) {
			a.from[new[k]] = old[k]
		}
		return
	}
	// most[i][j] is the highest total similarity of pairs of old[i:] and new[j:].
	most := make([][]int, len(old)+1)
	most[len(old)] = make([]int, len(new)+1)
	for i := len(old) - 1; i >= 0; i-- {
		most[i] = make([]int, len(new)+1)
		for j := len(new) - 1; j >= 0; j-- {
			most[i][j] = max(most[i+1][j], most[i][j+1], most[i+1][j+1]+alike(a.old[old[i]], a.new[new[j]]))
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(new); {
		switch most[i][j] {
		case most[i+1][j+1] + alike(a.old[old[i]], a.new[new[j]]):
			a.from[new[j]] = old[i]
			i, j = i+1, j+1
		case most[i+1][j]:
			i++
		default:
			j++
		}
	}
}

// alikeLimit is the maximum number of pairs of items whose similarity is computed.
const alikeLimit = 1 << 10

// alike returns the similarity of two different items: 1, and 2 more for each equal field.
func alike(old, new any) int {
	was, _ := old.(map[string]any)
	is, _ := new.(map[string]any)
	weight := 1
	for name, value := range was {
		if other, there := is[name]; there && equal(value, other) {
			weight += 2
		}
	}
	return weight
}

// increasing returns which of the numbers belong to a longest increasing subsequence. Negative numbers do not belong to
// any. The other numbers must be distinct.
func increasing(numbers []int) []bool {
	var ends []int // ends[k] is the index of the lowest number that ends a subsequence of length k+1
	before := make([]int, len(numbers))
	for j, n := range numbers {
		if n < 0 {
			continue
		}
		k, _ := slices.BinarySearchFunc(ends, n, func(end, n int) int { return numbers[end] - n })
		before[j] = -1
		if k > 0 {
			before[j] = ends[k-1]
		}
		ends = append(ends[:k], append([]int{j}, ends[min(k+1, len(ends)):]...)...)
	}
	in := make([]bool, len(numbers))
	if len(ends) > 0 {
		for j := ends[len(ends)-1]; j >= 0; j = before[j] {
			in[j] = true
		}
	}
	return in
}
