// Package spelling finds the name that somebody may have meant who has typed another one.
package spelling

import (
	"unicode/utf8"

	"cel.dev/cel-go/common/env"
)

// To returns the first nearest candidate that is not what was typed; empty if none is near.
func Nearest(typed string, candidates []string) string {
	best, nearest := MaxDistance(typed)+1, ""
	for _, c := range candidates {
		if d := EditDistance(typed, c); d < best && d > 0 {
			best, nearest = d, c
		}
	}
	return nearest
}

// Distance is how many slips are between two names.
func EditDistance(a, b string) int { return env.EditDistance(a, b) }

// Tolerance is how many slips a name may have: nearly everything is near a short one.
func MaxDistance(typed string) int {
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
