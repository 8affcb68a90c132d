package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/internal/spelling"
)

// The topics of dwatch help that are not commands.
const (
	streamTopic = "stream" // dwatch RESOURCE..., which has no name
	flagsTopic  = "flags"  // all flags, of the stream or of the command before it
)

// helpTask is something that users want to do, and the command line for it.
type helpTask struct {
	goal string
	line string // without the name of the program
}

var helpTasks = []helpTask{
	{"Watch a rollout", "deploy,rs,po"},
	{"Watch it in a table", "live deploy,rs,po"},
	{"Watch it in a browser", "serve deploy,rs,po --open"},
	{"Wait in CI", "wait deploy/web --timeout 5m"},
	{"Why is it not ready?", "wait deploy/web --timeout 5s"},
	{"Who changed it?", "deploy/web --since 2h"},
	{"What happened last night?", "deploy,cm,po -A --since 02:00"},
	{"What keeps changing?", "top '*' -A"},
	{"Record for later", "record rec '*' -A --keep 30d"},
	{"Compare two clusters", "diff deploy --context staging,prod"},
	{"Call a webhook", "send jobs --to https://example.com"},
	{"Feed a program", "jobs -A | jq .object.metadata.name"},
	{"Get the RBAC roles", "rbac deploy,rs,po"},
}

// writeOverview writes the tasks, the commands, and where to read on.
func writeOverview(b *strings.Builder, root *cobra.Command) {
	name := root.DisplayName()
	first, _, _ := strings.Cut(root.Long, "\n\n")
	fmt.Fprintf(b, "%s\n\nUsage:\n  %s RESOURCE... [flags]\n  %[2]s COMMAND ... [flags]\n\nTasks:\n", first, name)
	for _, t := range helpTasks {
		fmt.Fprintf(b, "  %-25s  %s %s\n", t.goal, name, t.line)
	}
	writeCommands(b, root)
	b.WriteString("\nRead on:\n")
	for _, line := range [][2]string{
		{name + " help COMMAND", "examples and main flags of a command"},
		{name + " help stream", "the same for watching RESOURCE..."},
		{name + " help COMMAND flags", "all flags of a command"},
		{name + " help flags", "all flags for watching RESOURCE..."},
		{"docs/README.md", "tasks, reference pages and explanations"},
	} {
		fmt.Fprintf(b, "  %-*s  %s\n", len(name)+len(" help COMMAND flags"), line[0], line[1])
	}
}

// newHelpCommand returns the command help. stream prints the help of dwatch RESOURCE....
func newHelpCommand(display string, stream *helpPrinter) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | stream] [flags]",
		Short: "Print help on tasks, on a command, or on all its flags",
		Long:  "Print tasks and commands, the help of a command, or all its flags with the word\n\"flags\" at the end. The topic stream is dwatch RESOURCE..., without a command.",
		Example: strings.ReplaceAll(`  # Print the examples and main flags of a command
  dwatch help send

  # Print all flags of a command
  dwatch help send flags

  # Print all flags of dwatch RESOURCE...
  dwatch help flags`, "  dwatch", "  "+display),
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			words, all := args, len(args) > 0 && args[len(args)-1] == flagsTopic
			if all {
				words = args[:len(args)-1]
			}
			var b strings.Builder
			switch {
			case all && len(words) == 0:
				fmt.Fprintf(&b, "The flags of %s RESOURCE..., the stream. For the flags of a command, see\n%[1]s COMMAND --%s.\n", display, flags.HelpAll)
				stream.writeFlags(&b, root)
			case len(words) == 1 && words[0] == streamTopic:
				stream.writeHelp(&b, root, all)
			default:
				topic, rest, err := root.Find(words)
				if err != nil || len(rest) > 0 {
					return fail.Usage(unknownTopic(topic, rest, args))
				}
				if all {
					if err := topic.Flags().Set(flags.HelpAll, "true"); err != nil {
						return err
					}
				}
				return topic.Help()
			}
			_, err := io.WriteString(cmd.OutOrStdout(), b.String())
			return err
		},
	}
}

// topicsOf returns the words that can follow dwatch help and the path of c, with descriptions.
func topicsOf(c *cobra.Command) (topics []cobra.Completion) {
	if !c.HasParent() {
		topics = append(topics, cobra.CompletionWithDesc(streamTopic, c.Short))
	}
	if c.Flags().Lookup("namespace") != nil { // completion and help have no flags of their own
		topics = append(topics, cobra.CompletionWithDesc(flagsTopic, "Print all flags of "+pathOf(c)))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			topics = append(topics, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return topics
}

func completeTopic(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, rest, err := cmd.Root().Find(args)
	switch {
	case err == nil && len(rest) == 0:
		return topicsOf(c), cobra.ShellCompDirectiveNoFileComp
	case len(args) == 1 && args[0] == streamTopic:
		return []cobra.Completion{cobra.CompletionWithDesc(flagsTopic, "Print all flags of "+pathOf(cmd.Root()))}, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// unknownTopic returns the error for args that are not a topic of help. rest are the words after the name of the command c, without flagsTopic.
func unknownTopic(c *cobra.Command, rest, args []string) error {
	root := c.Root().DisplayName()
	help := root + " help" + strings.TrimPrefix(pathOf(c), root)
	if len(rest) == 1 {
		word := rest[0]
		if c.Flags().Lookup(word) != nil {
			return fmt.Errorf("there is no help topic %q; '%s %s' describes the flag --%[1]s", word, help, flagsTopic)
		}
		var names []string
		for _, topic := range topicsOf(c) {
			name, _, _ := strings.Cut(topic, "\t")
			names = append(names, name)
		}
		if near := spelling.Nearest(word, names); near != "" {
			if near != flagsTopic && args[len(args)-1] == flagsTopic {
				near += " " + flagsTopic
			}
			return fmt.Errorf("there is no help topic %q; did you mean '%s %s'?", word, help, near)
		}
		if i := slices.IndexFunc(commands, func(d description) bool { return d.wrap == nil && d.flag(word) != nil }); i >= 0 && !c.HasParent() {
			return fmt.Errorf("there is no help topic %q; '%s %s %s' describes the flag --%[1]s", word, help, commands[i].name, flagsTopic)
		}
		if near := spelling.Nearest(word, namesOf(c.Flags())); near != "" {
			return fmt.Errorf("there is no help topic %q; did you mean the flag --%s? '%s %s' describes it", word, near, help, flagsTopic)
		}
	}
	if c.HasParent() {
		return fmt.Errorf("there is no help on %q; see '%s'", strings.Join(args, " "), help)
	}
	return fmt.Errorf("there is no help on %q; see '%s'; to watch a resource named help, use -r help", strings.Join(args, " "), help)
}
