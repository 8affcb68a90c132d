package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completionPlugin is the name under which kubectl asks dwatch to complete the
// words after "kubectl dwatch".
const completionPlugin = "kubectl_complete-dwatch"

const completionLong = `Print the completion script of %[1]s for a shell.

With it, TAB completes flags and their values, resource types, namespaces and the
names of objects. What the server has to say, it has to say within two seconds.`

const completionExamples = `  # bash, with its package bash-completion: for this shell, for all shells to come
  source <(%[1]s completion bash)
  %[1]s completion bash > ~/.local/share/bash-completion/completions/dwatch

  # zsh
  source <(%[1]s completion zsh)
  %[1]s completion zsh > "${fpath[1]}/_dwatch"

  # fish
  %[1]s completion fish | source
  %[1]s completion fish > ~/.config/fish/completions/dwatch.fish

  # PowerShell: for all shells to come, put this line into $PROFILE
  %[1]s completion powershell | Out-String | Invoke-Expression

  # "kubectl dwatch" completes with kubectl's own script, if it finds the program under this name
  ln -s "$(command -v %[2]s)" ~/.local/bin/` + completionPlugin

// scripts writes the completion script of each shell.
var scripts = map[string]func(*cobra.Command, io.Writer) error{
	"bash":       bashScript,
	"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
}

// bashScript is cobra's without its quoting, which puts a backslash before each
// comma, so that nothing fits a list any more. What dwatch offers needs none: see
// isPlain.
func bashScript(root *cobra.Command, w io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(script.Bytes(), []byte("%q"), []byte("%s")))
	return err
}

var shells = []string{"bash", "zsh", "fish", "powershell"}

// addCompletion makes cmd complete itself: by a command that prints the scripts,
// and by answers to them.
func addCompletion(cmd *cobra.Command, o *options) {
	c := &completer{o}
	cmd.AddCommand(completionCommand(cmd.DisplayName()))
	cmd.SetHelpCommand(helpCommand())
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	cmd.ValidArgsFunction = c.arguments
	for flag, complete := range c.flags() {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // a flag of that name does not exist
		}
	}
}

// completionCommand prints the scripts. Its name hides no resource: that is what
// -r is for.
func completionCommand(display string) *cobra.Command {
	return &cobra.Command{
		Use:                   "completion " + strings.Join(shells, "|"),
		Short:                 "Print the completion script of a shell: " + strings.Join(shells, ", "),
		Long:                  fmt.Sprintf(completionLong, display),
		Example:               fmt.Sprintf(completionExamples, display, strings.ReplaceAll(display, " ", "-")),
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usageError{fmt.Errorf("say for which shell: %s; a resource of that name is watched with -r completion", strings.Join(shells, ", "))}
			}
			return scripts[args[0]](cmd.Root(), cmd.OutOrStdout())
		},
	}
}

// helpCommand stands for --help. Its name, too, hides no resource.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND]",
		Short:                 "Print help, as --help does",
		Hidden:                true,
		DisableFlagsInUseLine: true,
		ValidArgs:             []string{"completion"},
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("there is no help on %s; see '%s --help'; a resource of that name is watched with -r help",
					quoted(strings.Join(args, " ")), cmd.Root().DisplayName())}
			}
			topic.InitDefaultHelpFlag()
			topic.InitDefaultVersionFlag()
			return topic.Help()
		},
	}
}

// isCompletion tells whether a shell asks, and not a person.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// silent returns s without its stderr: a shell asks while somebody types, and
// what is on the screen must stay as it is. The process's own streams go too:
// cobra and the programs that get credentials use them, and without a terminal
// these don't ask for a password.
func silent(s streams) streams {
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		os.Stdin, os.Stderr = null, null
	}
	quietClient(io.Discard, 0)
	return streams{s.out, io.Discard}
}
