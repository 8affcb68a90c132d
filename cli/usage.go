package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"dwatch/cli/flags"
)

// helpPrinter prints the help of a command. Short help fits two screens of a terminal and shows the main flags. Complete help shows all
// flags in groups.
type helpPrinter struct {
	groups    []flags.Group
	mainFlags []string // the names of the flags in short help
	width     int
}

// printHelp is called by cobra for --help, and for --help-all, which sets --help.
func (h *helpPrinter) printHelp(c *cobra.Command, _ []string) {
	var b strings.Builder
	if wantsOverview(c) {
		writeOverview(&b, c)
	} else {
		h.writeHelp(&b, c, wantsAll(c))
	}
	_, _ = io.WriteString(c.OutOrStdout(), b.String()) // cobra's function returns no error
}

// wantsOverview reports whether help is about dwatch as a whole: the command line names neither a command nor a resource.
func wantsOverview(c *cobra.Command) bool {
	return !c.HasParent() && !wantsAll(c) && c.Flags().NArg() == 0 && !c.Flags().Changed("resource")
}

// wantsAll reports whether --help-all is given.
func wantsAll(c *cobra.Command) bool {
	all, err := c.Flags().GetBool(flags.HelpAll)
	return err == nil && all
}

// writeHelp writes the description of c and what writeUsage writes.
func (h *helpPrinter) writeHelp(b *strings.Builder, c *cobra.Command, all bool) {
	fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(cmp.Or(c.Long, c.Short)))
	h.writeUsage(b, c, all)
}

// writeUsage writes what follows the description: examples first, since people read them first.
func (h *helpPrinter) writeUsage(b *strings.Builder, c *cobra.Command, all bool) {
	if c.Example != "" {
		fmt.Fprintf(b, "Examples:\n%s\n\n", c.Example)
	}
	fmt.Fprintf(b, "Usage:\n  %s\n", strings.ReplaceAll(c.UseLine(), "PATH", pathOf(c)))
	switch {
	case !all:
		h.writeMainFlags(b, c)
	case !c.HasParent():
		fmt.Fprintf(b, "  %s COMMAND ...\n", c.DisplayName())
		writeCommands(b, c)
		fallthrough
	default:
		h.writeFlags(b, c)
	}
}

// writeMainFlags writes nothing for a command without flags of its own, such as completion.
func (h *helpPrinter) writeMainFlags(b *strings.Builder, c *cobra.Command) {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.SortFlags = false
	for _, name := range h.mainFlags {
		if f := c.Flags().Lookup(name); f != nil {
			some.AddFlag(flags.Brief(f))
		}
	}
	if some.HasFlags() {
		fmt.Fprintf(b, "\nMain flags:\n%s\nAll flags: %s --%s\n", some.FlagUsagesWrapped(h.width), pathOf(c), flags.HelpAll)
	}
}

// writeFlags writes all flags of c.
func (h *helpPrinter) writeFlags(b *strings.Builder, c *cobra.Command) {
	for _, g := range h.groups {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		own.SortFlags = false
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if c.Flags().Lookup(f.Name) == f { // a flag of another group may hide it
				own.AddFlag(f)
			}
		})
		if own.HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s:\n%s", g.Title, own.FlagUsagesWrapped(h.width))
		}
	}
}

func writeCommands(b *strings.Builder, c *cobra.Command) {
	b.WriteString("\nCommands:\n")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

// Help is as wide as the terminal within these bounds.
const minHelpWidth, maxHelpWidth = 80, 100

// helpWidth returns the width of help on f, which need not be a terminal.
func helpWidth(f *os.File) int {
	width := 0
	if f != nil {
		width, _, _ = term.GetSize(int(f.Fd())) // 0 if f is no terminal
	}
	return min(max(width, minHelpWidth), maxHelpWidth)
}
