package complete

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/mapper"
	"dwatch/watcher/event"
)

// PluginName is the name of the program that kubectl runs to complete "kubectl dwatch ...".
const PluginName = "kubectl_complete-dwatch"

const long = `Print the completion script of %[1]s for a shell.

With it, TAB completes flags and their values, resource types, namespaces and
the names of objects. Completion waits at most two seconds for the server.`

const scriptExamples = `  # bash: for this shell, and for new shells
  source <(%[1]s completion bash)
  %[1]s completion bash > ~/.local/share/bash-completion/completions/dwatch

  # zsh
  source <(%[1]s completion zsh)
  %[1]s completion zsh > "${fpath[1]}/_dwatch"

  # fish
  %[1]s completion fish | source
  %[1]s completion fish > ~/.config/fish/completions/dwatch.fish

  # PowerShell: for new shells, put this line into $PROFILE
  %[1]s completion powershell | Out-String | Invoke-Expression

  # "kubectl dwatch": kubectl's completion script runs a program of this name
  ln -s "$(command -v %[2]s)" ~/.local/bin/` + PluginName

var scripts = map[string]func(*cobra.Command, io.Writer) error{
	"bash":       bashScript,
	"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
}

// bashWords defines the only function of the package bash-completion that cobra's script needs, in
// case the package is not installed. It returns the words up to the cursor, and joins words that bash
// has split at = and :.
const bashWords = `
__dwatch_words()
{
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local i word gap line=${COMP_LINE:0:COMP_POINT}
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${line%%[![:space:]]*}
        line=${line:${#gap}}
        word=${COMP_WORDS[i]:0:${#line}}
        line=${line:${#word}}
        if [[ i -gt 0 && -z $gap && ( ${COMP_WORDS[i]} =~ ^[=:]+$ || ${COMP_WORDS[i-1]} =~ ^[=:]+$ ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
    done
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword - 1 : 0]}
}
`

// bashScript writes cobra's script with two changes. It uses bashWords. And it does not quote words,
// because cobra would put a backslash before each comma, so that lists would no longer match. dwatch
// only offers words that need no quotes, see isPlain.
func bashScript(root *cobra.Command, w io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	_, err := strings.NewReplacer(
		"%q", "%s",
		`_get_comp_words_by_ref "$@" cur prev words cword`, `__dwatch_words "$@"`,
	).WriteString(w, script.String())
	if err == nil {
		_, err = io.WriteString(w, bashWords)
	}
	return err
}

// Shells are the supported shells.
var Shells = []string{"bash", "zsh", "fish", "powershell"}

// Options describe a command to complete.
type Options struct {
	Connection *cluster.Flags
	// FlagValues returns the possible values of a flag, or nil if there is no list of them.
	FlagValues func(*pflag.Flag) []string
	// Targets returns the targets of arguments without names, with the flags given so far.
	Targets func(context.Context, *cluster.Cluster, *mapper.Mapper, []mapper.Argument) ([]event.Target, error)
	// ListOnly means that the command lists objects once, so resources that can't be watched are offered, too.
	ListOnly bool
	// FirstArgIsDirectory means that the first argument is the path of a directory.
	FirstArgIsDirectory bool
}

// Register registers completion for the arguments and flag values of cmd. If several commands share a
// flag, the first registration of the flag wins.
func Register(cmd *cobra.Command, o Options) {
	c := &completer{o}
	cmd.ValidArgsFunction = c.arguments
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := c.flag(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // an error means that the flag is already registered
		}
	})
}

// UnquoteUsage removes the backticks from the usage of all flags of root and its commands. Help uses
// them to find the name of the value, but completion would show them.
func UnquoteUsage(root *cobra.Command) {
	root.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, cmd := range root.Commands() {
		UnquoteUsage(cmd)
	}
}

// NewScriptCommand returns the command that prints the scripts. A resource named completion can be watched with -r.
func NewScriptCommand(display string) *cobra.Command {
	return &cobra.Command{
		Use:                   "completion " + strings.Join(Shells, "|"),
		Short:                 "Print a completion script: " + strings.Join(Shells, ", "),
		Long:                  fmt.Sprintf(long, display),
		Example:               fmt.Sprintf(scriptExamples, display, strings.ReplaceAll(display, " ", "-")),
		ValidArgs:             Shells,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(Shells, args[0]) {
				return fail.Usage(fmt.Errorf("name a shell: %s; to watch a resource named completion, use -r completion", strings.Join(Shells, ", ")))
			}
			return scripts[args[0]](cmd.Root(), cmd.OutOrStdout())
		},
	}
}

// IsAfterDashRequest reports whether args are a completion request for a word after "--". These words
// are a command, which the shell completes better. Cobra does not pass the "--" on to completion functions.
func IsAfterDashRequest(args []string) bool {
	return IsCompletionRequest(args) && len(args) > 2 && slices.Contains(args[1:len(args)-1], "--")
}

// CompleteFiles writes a response that makes the shell complete paths, and returns the exit code.
func CompleteFiles(w io.Writer) int {
	fmt.Fprintf(w, ":%d\n", cobra.ShellCompDirectiveDefault)
	return fail.ExitOK
}

// IsCompletionRequest reports whether args are a completion request of a shell.
func IsCompletionRequest(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}
