// Package spelling suggests a known name for a misspelled one.
package spelling

import (
	"unicode/utf8"

	"cel.dev/cel-go/common/env"
)

// Nearest returns the candidate that is most similar to typed but not equal to it, the first one if several are equally
// similar. It returns "" if none is similar.
func Nearest(typed string, candidates []string) string {
	best, nearest := MaxDistance(typed)+1, ""
	for _, c := range candidates {
		if d := EditDistance(typed, c); d < best && d > 0 {
			best, nearest = d, c
		}
	}
	return nearest
}

// EditDistance returns the number of typing errors between two names. Swapping two adjacent characters counts as one.
func EditDistance(a, b string) int { return env.EditDistance(a, b) }

// MaxDistance returns the maximum edit distance at which names are similar. It grows with the length of the typed name.
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
