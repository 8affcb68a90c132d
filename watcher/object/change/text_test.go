package change

import (
	"strings"
	"testing"
)

func TestUnifiedDiff(t *testing.T) {
	long := strings.Repeat("line\n", 50)
	for _, c := range []struct{ old, new, want string }{
		{"a\nb\n", "a\nb\n", ""},
		{"", "", ""},
		{"a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n", "@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n"},
		{"", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"--- \n+++ \n", "--- \n", "@@ -1,2 +1 @@\n --- \n-+++ \n"},
		{long + "x\n" + long + "y\n", long + "z\n" + long + "w\n", "@@ -50,3 +50,3 @@\n line\n-x\n+z\n line\n@@ -101,2 +101,2 @@\n line\n-y\n+w\n"},
	} {
		if got := UnifiedDiff(c.old, c.new); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
