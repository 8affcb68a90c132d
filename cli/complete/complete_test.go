package complete

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
)

// TestRegister checks that each command completes the values of its own flags.
func TestRegister(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	root, sub := &cobra.Command{Use: "root"}, &cobra.Command{Use: "sub", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(sub)
	for _, cmd := range []*cobra.Command{root, sub} {
		cmd.Flags().String("output", "", "As `FORMAT`")
		offered := func(f *pflag.Flag) []string {
			return map[string][]string{"output": {cmd.Name()}, "other": {"x"}}[f.Name]
		}
		Register(cmd, Options{Connection: &cluster.Flags{}, FlagValues: offered})
	}
	var file string
	sub.Flags().StringVar(&file, "state", "", "Keep it in `FILE`")
	Register(sub, Options{Connection: &cluster.Flags{}, FlagValues: func(*pflag.Flag) []string { return nil }}) // keeps existing completions
	root.AddCommand(NewScriptCommand("root"))
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	UnquoteUsage(root)
	for _, test := range []struct{ line, want string }{
		{"--output |", "root\n:4\n"},
		{"sub --output |", "sub\n:4\n"},
		{"sub --state |", ":0\n"},
		{"sub --st|", "--state\tKeep it in FILE\n:4\n"},
		{"su|", "sub\n:4\n"},
	} {
		var out strings.Builder
		root.SetOut(&out)
		root.SetErr(io.Discard)
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, strings.Split(strings.TrimSuffix(test.line, "|"), " ")...))
		if err := root.Execute(); err != nil || out.String() != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.line, out.String(), err, test.want)
		}
	}
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
			t.Errorf("%q without %q: -want +got:\n%s", test.list, test.taken, diff)
		}
	}
}

func TestIsPlain(t *testing.T) {
	for _, word := range []string{"web-1", "system:node", "arn:aws:eks:eu:1:cluster/x", "a@b", "größe", "x=y"} {
		if !isPlain(word) {
			t.Errorf("isPlain(%q) is false, want true", word)
		}
	}
	for _, word := range []string{"", "-n", "=ls", "a b", "a\tb", "a\nb", "$(reboot)", "`reboot`", "a;b", "a,b", "a*", "~a", `a\b`, "a'b", "\u202eab"} {
		if isPlain(word) {
			t.Errorf("isPlain(%q) is true, want false", word)
		}
	}
}
