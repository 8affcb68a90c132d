package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagGroups: each flag is in one group, also those that cobra adds, and help
// shows each once.
func TestFlagGroups(t *testing.T) {
	cmd := newCommand("dwatch", Streams{Err: io.Discard})
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	groups := map[string][]string{}
	for _, g := range new(options).newFlagGroups() {
		g.flags.VisitAll(func(f *pflag.Flag) { groups[f.Name] = append(groups[f.Name], g.title) })
	}
	help := helpOf(t, cmd, 80)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if in := groups[f.Name]; len(in) != 1 {
			t.Errorf("--%s is in the groups %q", f.Name, in)
		}
		line := regexp.MustCompile(`(?m)^  (-.,|   ) --` + f.Name + ` `)
		if shown := len(line.FindAllString(help, -1)); !f.Hidden && shown != 1 {
			t.Errorf("help shows --%s %d times", f.Name, shown)
		}
	})
}

// TestUsageOptionalValue: help shows a value that may be left out as one, and not what
// the parser puts in its place.
func TestUsageOptionalValue(t *testing.T) {
	cmd := newCommand("dwatch", Streams{Err: io.Discard})
	help := helpOf(t, cmd, 80)
	if !regexp.MustCompile(`(?m)^ +--serve \[ADDRESS\] `).MatchString(help) {
		t.Error("help does not show --serve [ADDRESS]")
	}
	if before := regexp.MustCompile(`--[a-z-]+ [^ ]*\[=`).FindString(help); before != "" {
		t.Errorf("help shows %s", before)
	}
}

// TestUsageWidth: help fits the terminal.
func TestUsageWidth(t *testing.T) {
	cmd := newCommand("dwatch", Streams{Err: io.Discard})
	for _, width := range []int{minHelpWidth, 80, maxHelpWidth} {
		for line := range strings.Lines(cmd.Long + "\n" + helpOf(t, cmd, width)) {
			if columns := len([]rune(strings.TrimRight(line, "\n"))); columns > width {
				t.Errorf("%d columns instead of %d: %s", columns, width, line)
			}
		}
	}
}

func helpOf(t *testing.T, cmd *cobra.Command, width int) string {
	t.Helper()
	var b strings.Builder
	cmd.SetOut(&b)
	if err := printUsage(cmd, new(options).newFlagGroups(), width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
