package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// became says of a flag that the stream had once which command does that now: %s are the
// resources that are named.
var became = map[string]string{
	"list":             "dwatch list %s prints it",
	"live":             "dwatch live %s shows it",
	"serve":            "dwatch serve %s serves it; --addr says where",
	"to":               "dwatch send %s --to URL sends it",
	"redeliver":        "dwatch send%.0s --redeliver FILE --to URL sends it again",
	"print-rbac":       "dwatch rbac %s prints it",
	"sort-by":          "--sort-by is for a list: dwatch list %s --sort-by PATH",
	"ignore-not-found": "--ignore-not-found is for a list: dwatch list %s --ignore-not-found; a watch waits for what is not there",
}

// moved says where a flag is that a command does not have; nil if it is nowhere.
func moved(cmd *cobra.Command, args []string, flag string) error {
	if instead, ok := became[flag]; ok && !cmd.HasParent() {
		return fmt.Errorf(instead, resourcesIn(cmd.Flags(), args, flag))
	}
	var others []string
	for _, c := range append(cmd.Root().Commands(), cmd.Root()) {
		if c != cmd && c.Name() != "rbac" && c.Flags().Lookup(flag) != nil {
			others = append(others, pathOf(c))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("--%s is a flag of %s, and not of %s: see '%s --help'", flag, strings.Join(others, ", "), pathOf(cmd), others[0])
}

// resourcesIn returns what a command line names, although one of its flags is unknown.
func resourcesIn(f *pflag.FlagSet, args []string, unknown string) string {
	rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return arg == "--"+unknown || strings.HasPrefix(arg, "--"+unknown+"=")
	})
	f.ParseErrorsAllowlist.UnknownFlags = true
	given, isList := f.Lookup("resource").Value.(pflag.SliceValue)
	if !isList || given.Replace(nil) != nil || f.Parse(rest) != nil { // a second time
		return "RESOURCE"
	}
	named := given.GetSlice()
	words := slices.DeleteFunc(append(named, f.Args()...), func(word string) bool { return strings.Contains(word, ":") })
	if len(words) == 0 {
		return "RESOURCE"
	}
	return strings.Join(words, " ")
}
