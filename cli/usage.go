package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// printUsage prints what follows the description of a command in its help:
// examples first, as they are what people read. The groups are those of the root
// command.
func printUsage(c *cobra.Command, groups []flagGroup, width int) error {
	var b strings.Builder
	if c.HasExample() {
		fmt.Fprintf(&b, "Examples:\n%s\n\n", c.Example)
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasParent() {
		groups = []flagGroup{{"Flags", c.LocalFlags()}}
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, shown(g.flags).FlagUsagesWrapped(width))
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// shown returns flags as help shows them: without the value of one whose value is left
// out, such as [="127.0.0.1:0"] behind its name. The description says it.
func shown(flags *pflag.FlagSet) *pflag.FlagSet {
	copies := pflag.NewFlagSet("", pflag.ContinueOnError)
	copies.SortFlags = flags.SortFlags
	flags.VisitAll(func(f *pflag.Flag) {
		c := *f
		c.NoOptDefVal = ""
		copies.AddFlag(&c)
	})
	return copies
}

// Help is as wide as the terminal within these bounds: longer lines are hard to
// read, and in fewer columns they would be too short.
const minHelpWidth, maxHelpWidth = 80, 100

// helpWidth is the width of help on f, which may be no terminal.
func helpWidth(f *os.File) int {
	width := 0
	if f != nil {
		width, _, _ = term.GetSize(int(f.Fd())) // 0 if it is none
	}
	return min(max(width, minHelpWidth), maxHelpWidth)
}
