package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
)

// printUsage prints the help of a command after its description: examples first, since people read them first. The help of the
// stream fits a screen.
func printUsage(c *cobra.Command, groups []flags.Group, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Examples:\n%s\n\nUsage:\n  %s\n", c.Example, strings.ReplaceAll(c.UseLine(), "PATH", pathOf(c)))
	if c.HasParent() {
		writeFlags(&b, c, groups, width)
	} else {
		fmt.Fprintf(&b, "  %s COMMAND RESOURCE... [flags]\n", c.DisplayName())
		writeCommands(&b, c)
		writeOverview(&b, c, width)
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

func writeCommands(b *strings.Builder, c *cobra.Command) {
	b.WriteString("\nCommands:\n")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

// inOverview lists the flags that most people need.
var inOverview = []string{"namespace", "all-namespaces", "selector", "output", "where", "types", "watch-only", "until", "timeout", "state"}

// inHelpOnly are texts at which the overview cuts off a flag's description. The complete help shows the rest.
var inHelpOnly = []string{";", ", kyaml", ", e.g. \"", ", with exit code 0, or", " when they come", ": added", " when EXPR", ": keep in it"}

// writeOverview writes the flags of inOverview, and where the other flags are.
func writeOverview(b *strings.Builder, c *cobra.Command, width int) {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.SortFlags = false
	for _, name := range inOverview {
		f := *c.Flags().Lookup(name)
		for _, rest := range inHelpOnly {
			f.Usage, _, _ = strings.Cut(f.Usage, rest)
		}
		some.AddFlag(&f)
	}
	fmt.Fprintf(b, "\nFlags that matter most:\n%s", some.FlagUsagesWrapped(width))
	fmt.Fprintf(b, "\nAll others, and --version: %s help flags, %[1]s COMMAND --help\n", c.DisplayName())
}

func writeFlags(b *strings.Builder, c *cobra.Command, groups []flags.Group, width int) {
	for _, g := range groups {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		own.SortFlags = false
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if c.Flags().Lookup(f.Name) == f { // a flag of another group may hide it
				own.AddFlag(f)
			}
		})
		if own.HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s:\n%s", g.Title, own.FlagUsagesWrapped(width))
		}
	}
}

// newHelpCommand returns the command help, which also prints all flags of the stream.
func newHelpCommand(groups []flags.Group, width int) *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND | flags]",
		Short:                 "Print help; help flags prints the flags of the stream",
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			words := []cobra.Completion{"flags"}
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() { // the completion command is hidden
					words = append(words, c.Name())
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 1 && args[0] == "flags" {
				var b strings.Builder
				fmt.Fprintf(&b, "The flags of %s RESOURCE..., the stream. For the flags of a command, see\n%[1]s COMMAND --help.\n", root.DisplayName())
				writeFlags(&b, root, groups, width)
				_, err := io.WriteString(cmd.OutOrStdout(), b.String())
				return err
			}
			topic, rest, err := root.Find(args)
			if len(args) == 1 && root.Flags().Lookup(args[0]) != nil {
				return fail.Usage(fmt.Errorf("there is no help topic %q; '%s help flags' describes the flag --%[1]s", args[0], root.DisplayName()))
			}
			if err != nil || len(rest) > 0 {
				return fail.Usage(fmt.Errorf("there is no help on %q; see '%s --help'; to watch a resource named help, use -r help",
					strings.Join(args, " "), root.DisplayName()))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
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
