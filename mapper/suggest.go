package mapper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const suggestions = 3

// suggest returns the resources whose plural, singular, short name or kind is
// near what was typed before a group: the nearest first, then in the server's
// order. The version of each is the preferred one.
func (c *catalog) suggest(name string) []string {
	typed := strings.ToLower(schema.ParseGroupResource(name).Resource)
	limit := tolerance(typed)
	type near struct {
		resource
		distance int
	}
	var found []near
	for _, r := range c.preferred() {
		best := limit + 1
		for _, candidate := range slices.Concat(r.longNames(), r.ShortNames) {
			best = min(best, distance(typed, candidate, limit))
		}
		if best <= limit {
			found = append(found, near{r, best})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var texts []string
	for _, n := range found[:min(len(found), suggestions)] {
		texts = append(texts, fmt.Sprintf("%s (%s)", n.Name, n.gv))
	}
	return texts
}

// Nearest returns the candidate that is nearest to what was typed, the first one of
// several, or nothing if none is near. What was typed itself is no slip.
func Nearest(typed string, candidates []string) string {
	limit := tolerance(typed)
	best, nearest := limit+1, ""
	for _, c := range candidates {
		if d := distance(typed, c, limit); d < best && d > 0 {
			best, nearest = d, c
		}
	}
	return nearest
}

// tolerance is how many slips a name of this length may have: in a short one
// nearly everything is near everything.
func tolerance(typed string) int {
	switch n := utf8.RuneCountInString(typed); {
	case n < 3:
		return 0
	case n < 8:
		return 1
	case n < 10:
		return 2
	default:
		return 3
	}
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to turn a into b. More than limit is limit+1.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			replace := last[j]
			if x[i] != y[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], limit+1)
}
