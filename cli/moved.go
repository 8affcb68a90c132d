package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/internal/spelling"
	"dwatch/mapper"
	"dwatch/output"
)

// became maps flags that users may expect to the flag or command line to use instead. %[1]s is dwatch, %[2]s
// are the named resources.
var became = map[string]string{
	"list":             "%[1]s list %[2]s",
	"live":             "%[1]s live %[2]s",
	"serve":            "%[1]s serve %[2]s --addr HOST:PORT",
	"to":               "%[1]s send %[2]s --to URL",
	"redeliver":        "%[1]s send --redeliver FILE --to URL",
	"print-rbac":       "%[1]s rbac %[2]s",
	"sort-by":          "%[1]s list %[2]s --sort-by PATH",
	"ignore-not-found": "%[1]s list %[2]s --ignore-not-found; a watch waits for objects that do not exist",
	"watch":            "%[1]s %[2]s, which always watches",
	"webhook":          "%[1]s send %[2]s --to URL",
	"port":             "%[1]s serve %[2]s --addr 127.0.0.1:PORT",
	"exclude-ns":       "--exclude-namespace NAMESPACE",
}

// moved returns an error that says which command has a flag. It returns nil if none has it.
func moved(cmd *cobra.Command, args []string, flag string) error {
	if instead, ok := became[flag]; ok {
		return fmt.Errorf("%[4]s has no flag --%[3]s: use "+instead, cmd.Root().DisplayName(), resourcesIn(cmd, args, flag), flag, pathOf(cmd))
	}
	root := cmd.Root().DisplayName()
	var others []string
	for _, d := range append([]description{streamDescription}, commands...) {
		path := root
		if d.name != streamDescription.name {
			path += " " + d.name
		}
		if d.wrap == nil && path != pathOf(cmd) && d.flag(flag) != nil {
			others = append(others, path)
		}
	}
	if len(others) == 0 {
		return nil
	}
	help := others[0] + " --" + flags.HelpAll
	if others[0] == root {
		help = root + " help flags"
	}
	return fmt.Errorf("--%s is a flag of %s, not of %s; see '%s'", flag, strings.Join(others, ", "), pathOf(cmd), help)
}

func (d description) flag(name string) *pflag.Flag {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(f, d.newOptions(nil))
	return f.Lookup(name)
}

// resourcesIn returns the resources that a command line names, although it contains an unknown flag.
func resourcesIn(cmd *cobra.Command, args []string, unknown string) string {
	takesValue := slices.ContainsFunc(commands, func(d description) bool {
		f := d.flag(unknown)
		return f != nil && f.NoOptDefVal == ""
	})
	f := cmd.Flags()
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.StringP(unknown, map[string]string{"watch": "w"}[unknown], "", "")
	if !takesValue {
		f.Lookup(unknown).NoOptDefVal = "given"
	}
	given, isList := f.Lookup("resource").Value.(pflag.SliceValue)
	if !isList || given.Replace(nil) != nil || f.Parse(args) != nil { // parses a second time
		return "RESOURCE"
	}
	words := f.Args()
	if at := f.ArgsLenAtDash(); at >= 0 {
		words = words[:at]
	}
	for c := cmd; c.HasParent() && len(words) > 0; c = c.Parent() {
		words = words[1:] // the name of the command
	}
	return typed(given.GetSlice(), slices.DeleteFunc(words, func(word string) bool {
		return flags.LooksLikeAddress(word) || strings.Contains(word, "://") // an address may contain a password
	}))
}

// typed returns the words of a command line for resources. named are values of -r.
func typed(named, words []string) string {
	if len(words) == 0 {
		return cmp.Or(strings.Join(named, ","), "RESOURCE")
	}
	all := slices.Clone(words)
	for _, name := range named {
		all = append(all, "-r", name)
	}
	return output.EscapeLine(strings.Join(all, " "))
}

// checkDash returns an error if there is a command after "--", but cmd starts none. args are the arguments of cmd.
func checkDash(cmd *cobra.Command, args []string) error {
	at := cmd.ArgsLenAtDash()
	if at < 0 || cmd.Name() == sendDescription.name {
		return nil
	}
	named, _ := cmd.Flags().GetStringArray("resource")
	command := cmp.Or(strings.Join(args[at:], " "), "COMMAND")
	return fmt.Errorf("only dwatch send starts a command: use %s send %s -- %s", cmd.Root().DisplayName(), typed(named, args[:at]), output.EscapeLine(command))
}

// explainUnknownCommand returns err, and says that the first argument of the stream may be meant as a command: the server does not have
// such a resource, and the argument is near the name of a command, or is followed by others and near no resource.
func explainUnknownCommand(args []string, err error) error {
	unknown, ok := errors.AsType[*mapper.UnknownError](err)
	if !ok || unknown.Hint != "" || len(args) == 0 || args[0] != unknown.Name {
		return err
	}
	var names []string
	for _, d := range commands {
		names = append(names, d.name)
	}
	word := output.EscapeLine(unknown.Name)
	near := spelling.Nearest(unknown.Name, names)
	switch {
	case near != "":
		return fmt.Errorf("unknown command %q, did you mean %q? Otherwise: %w", word, near, err)
	case len(args) > 1 && len(unknown.Suggestions) == 0:
		return fmt.Errorf("unknown command %q (commands are %s); %w", word, strings.Join(names, ", "), err)
	}
	return err
}
