package complete

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		found := within(t.Context(), time.Minute, func(ctx context.Context) []cobra.Completion {
			deadline, ok := ctx.Deadline()
			if !ok || time.Until(deadline) != time.Minute {
				t.Errorf("deadline %v, want in a minute", deadline)
			}
			return []cobra.Completion{"a"}
		})
		if !slices.Equal(found, []string{"a"}) {
			t.Errorf("%q, want what was found", found)
		}

		start := time.Now()
		never := make(chan struct{})
		found = within(t.Context(), time.Minute, func(context.Context) []cobra.Completion {
			<-never
			return []cobra.Completion{"a"}
		})
		if took := time.Since(start); found != nil || took != time.Minute {
			t.Errorf("%q after %v, want nothing after a minute", found, took)
		}
		close(never)
	})
}

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
