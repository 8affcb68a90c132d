package mapper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/env"
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
		for _, candidate := range append([]string{r.Name, r.singular(), strings.ToLower(r.Kind)}, r.ShortNames...) {
			best = min(best, env.EditDistance(typed, candidate))
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
		if d := env.EditDistance(typed, c); d < best && d > 0 {
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
