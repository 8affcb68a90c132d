package change

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// IsMultiline reports whether a text has several lines, so that UnifiedDiff is usually shorter than both texts.
func IsMultiline(text string) bool { return strings.Contains(strings.TrimSuffix(text, "\n"), "\n") }

// UnifiedDiff returns the unified diff of two texts, with one line of context and without the two header lines (file
// names). It returns an empty string if the texts are equal. It escapes nothing.
func UnifiedDiff(old, new string) string {
	diff, err := udiff.ToUnified("", "", old, udiff.Lines(old, new), 1)
	if err != nil {
		panic(err) // the edits were computed from old, so they apply
	}
	return strings.TrimPrefix(diff, "--- \n+++ \n")
}
