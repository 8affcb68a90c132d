package complete

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestChooseItem(t *testing.T) {
	choices := []cobra.Completion{choice("one", "1"), choice("once", "a\nb"), choice("two", ""), choice("one", "again"), choice("o ne", "")}
	for _, test := range []struct {
		list  string
		taken []string
		want  []string
	}{
		{"", nil, []string{"one\t1", "once\ta\\u000ab", "two\t"}},
		{"on", nil, []string{"one\t1", "once\ta\\u000ab"}},
		{"two,o", []string{"once"}, []string{"two,one\t1"}},
		{"one,two,", nil, []string{"one,two,once\ta\\u000ab"}},
		{"x", nil, nil},
	} {
		if diff := cmp.Diff(test.want, chooseItem(test.list, test.taken, choices)); diff != "" {
			t.Errorf("%q without %q: %s", test.list, test.taken, diff)
		}
	}
}

func TestIsPlain(t *testing.T) {
	for _, word := range []string{"web-1", "system:node", "arn:aws:eks:eu:1:cluster/x", "a@b", "größe", "x=y"} {
		if !isPlain(word) {
			t.Errorf("%q is plain", word)
		}
	}
	for _, word := range []string{"", "-n", "=ls", "a b", "a\tb", "a\nb", "$(reboot)", "`reboot`", "a;b", "a,b", "a*", "~a", `a\b`, "a'b", "\u202eab"} {
		if isPlain(word) {
			t.Errorf("%q is not plain", word)
		}
	}
}
