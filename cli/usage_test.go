package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func testRoot() *cobra.Command {
	return newRoot("dwatch", []string{"list", "live", "serve", "send", "record", "diff", "export", "wait", "explain-readiness", "top", "rbac", "manifests"}, Streams{Err: io.Discard})
}

// TestFlagGroups: each flag is in one group, and help shows each once. The flags of the connection come last.
func TestFlagGroups(t *testing.T) {
	for _, d := range append(commands, streamDescription) {
		cmd, groups := newCommand(d, "dwatch", nil, Streams{Err: io.Discard})
		cmd.InitDefaultHelpFlag()
		var help strings.Builder
		writeFlags(&help, cmd, groups, maxHelpWidth)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			line := regexp.MustCompile(`(?m)^  (-.,|   ) --` + f.Name + `( |$)`)
			if shown := len(line.FindAllString(help.String(), -1)); !f.Hidden && shown != 1 {
				t.Errorf("help of %s shows --%s %d times", d.name, f.Name, shown)
			}
		})
		if last := groups[len(groups)-1]; last.Flags.Lookup("kubeconfig") == nil {
			t.Errorf("%s ends with %s", d.name, last.Title)
		}
		if before := regexp.MustCompile(`--[a-z-]+ [^ ]*\[=`).FindString(help.String()); before != "" {
			t.Errorf("help shows %s", before)
		}
	}
}

// TestUsageWidth: help fits the width of the terminal. The help of dwatch fits a screen.
func TestUsageWidth(t *testing.T) {
	root := testRoot()
	for _, cmd := range append(root.Commands(), root) {
		for _, width := range []int{minHelpWidth, 80, maxHelpWidth} {
			help := helpOf(t, cmd, width)
			for line := range strings.Lines(help) {
				if columns := len([]rune(strings.TrimRight(line, "\n"))); columns > max(width, 90) || cmd == root && columns > width {
					t.Errorf("%s: %d columns instead of %d: %s", cmd.Name(), columns, width, line)
				}
			}
			if lines := strings.Count(help, "\n"); cmd == root && lines > 60 {
				t.Errorf("%d lines", lines)
			}
		}
	}
}

func helpOf(t *testing.T, cmd *cobra.Command, width int) string {
	t.Helper()
	var b strings.Builder
	cmd.SetOut(&b)
	_, groups := newCommand(streamDescription, "dwatch", nil, Streams{})
	if err := printUsage(cmd, groups, width); err != nil {
		t.Fatal(err)
	}
	return cmd.Long + "\n\n" + b.String()
}
