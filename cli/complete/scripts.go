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

// PluginName is the name under which kubectl asks dwatch to complete "kubectl dwatch ...".
const PluginName = "kubectl_complete-dwatch"

const long = `Print the completion script of %[1]s for a shell.

With it, TAB completes flags and their values, resource types, namespaces and the
names of objects. What the server has to say, it has to say within two seconds.`

const scriptExamples = `  # bash: for this shell, for all shells to come
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

  # "kubectl dwatch": kubectl's own script asks a program of this name
  ln -s "$(command -v %[2]s)" ~/.local/bin/` + PluginName

var scripts = map[string]func(*cobra.Command, io.Writer) error{
	"bash":       bashScript,
	"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
}

// bashWords does without the package bash-completion what cobra's script takes from it:
// the words up to the cursor, those joined again that bash has broken at = and :.
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

// bashScript is cobra's, which takes the words from bashWords. Its quoting puts a backslash before
// each comma, so that nothing fits a list any more. What dwatch offers needs none: see isPlain.
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

var Shells = []string{"bash", "zsh", "fish", "powershell"}

// Options is what completion needs to know of a command that watches something.
type Options struct {
	Connection *cluster.Flags
	// Offered are values of a flag; nil if nothing is known of it.
	FlagValues func(*pflag.Flag) []string
	// Targets returns what arguments without a name, with the flags given so far, would watch.
	Targets func(context.Context, *cluster.Cluster, *mapper.Mapper, []mapper.Argument) ([]event.Target, error)
	// Directory: the first argument is one.
	FirstArgIsDirectory bool
}

// Add has the arguments of cmd and the values of its flags completed. Several commands
// may have flags in common: the first that is added completes those.
func Register(cmd *cobra.Command, o Options) {
	c := &completer{o}
	cmd.ValidArgsFunction = c.arguments
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := c.flag(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // or another command has it, too
		}
	})
}

// Unquote prepares root and its commands for a shell's question: it shows descriptions
// of flags as they are, where help takes the name of the value from its backticks.
func UnquoteUsage(root *cobra.Command) {
	root.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, cmd := range root.Commands() {
		UnquoteUsage(cmd)
	}
}

// ScriptCommand prints the scripts. Its name hides no resource: that is what -r is for.
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
				return fail.Usage(fmt.Errorf("say for which shell: %s; a resource of that name is watched with -r completion", strings.Join(Shells, ", ")))
			}
			return scripts[args[0]](cmd.Root(), cmd.OutOrStdout())
		},
	}
}

// IsAfterDash reports whether a shell asks about a word after "--", where a command
// stands: of that the shell knows more. (What cobra hands over does not have the "--".)
func IsAfterDashRequest(args []string) bool {
	return IsCompletionRequest(args) && len(args) > 2 && slices.Contains(args[1:len(args)-1], "--")
}

// Files answers with nothing, which makes the shell complete files, and returns an exit code.
func CompleteFiles(w io.Writer) int {
	fmt.Fprintf(w, ":%d\n", cobra.ShellCompDirectiveDefault)
	return fail.ExitOK
}

// IsAsked reports whether args are a shell's question for completions.
func IsCompletionRequest(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}
