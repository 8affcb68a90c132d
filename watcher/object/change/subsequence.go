package change

import "slices"

// longestCommon returns for each item of b the index of the one in a that a longest
// common subsequence pairs it with, -1 if it does not. Of lists whose table would be
// too large, it pairs only what is there once in both.
func longestCommon(a, b []int) []int {
	if len(a)*len(b) > tableLimit {
		return uniqueCommon(a, b)
	}
	return heaviest(len(a), len(b), func(i, j int) int32 {
		if a[i] == b[j] {
			return 1
		}
		return 0
	})
}

// tableLimit bounds the time and memory for a list: some 3 ms, 4 MB.
const tableLimit = 1 << 20

// heaviest pairs some of n items with some of m, so that both stay in order and the
// pairs together have the highest weight. It returns for each of the m the index of
// the other, -1 for none. What weighs nothing is no pair.
func heaviest(n, m int, weight func(i, j int) int32) []int {
	width := m + 1
	table := make([]int32, (n+1)*width) // the most from i and j on
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			at := i*width + j
			table[at] = max(table[at+width], table[at+1])
			if w := weight(i, j); w > 0 {
				table[at] = max(table[at], table[at+width+1]+w)
			}
		}
	}
	from := slices.Repeat([]int{-1}, m)
	for i, j := 0, 0; i < n && j < m; {
		at := i*width + j
		switch w := weight(i, j); {
		case w > 0 && table[at] == table[at+width+1]+w:
			from[j] = i
			i, j = i+1, j+1
		case table[at] == table[at+width]:
			i++
		default:
			j++
		}
	}
	return from
}

func uniqueCommon(a, b []int) []int {
	times, index := map[int]int{}, map[int]int{}
	for i, id := range a {
		times[id]++
		index[id] = i
	}
	timesInB := map[int]int{}
	for _, id := range b {
		timesInB[id]++
	}
	from := slices.Repeat([]int{-1}, len(b))
	for j, id := range b {
		if times[id] == 1 && timesInB[id] == 1 {
			from[j] = index[id]
		}
	}
	for j, stays := range increasing(from) {
		if !stays {
			from[j] = -1
		}
	}
	return from
}

// increasing returns which of the numbers are in a longest increasing subsequence.
// Negative ones are in none, and no two others are equal.
func increasing(numbers []int) []bool {
	var ends []int // ends[k]: where the subsequence of length k+1 with the lowest end ends
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
