package change

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// IsLong reports whether a text has several lines, of which Text tells more than both texts do.
func IsMultiline(text string) bool { return strings.Contains(strings.TrimSuffix(text, "\n"), "\n") }

// Text returns the difference between two texts of several lines as a unified diff:
// from the first "@@" on, without the two lines of file names, with one equal line
// around those that differ. It is empty if the texts are equal. Nothing is escaped.
func UnifiedDiff(old, new string) string {
	diff, err := udiff.ToUnified("", "", old, udiff.Lines(old, new), 1)
	if err != nil {
		panic(err) // the edits fit: they were made of old
	}
	return strings.TrimPrefix(diff, "--- \n+++ \n")
}
