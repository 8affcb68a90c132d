package complete

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/cli/fail"
)

// completer completes one command. Of its methods only those in server.go ask the server.
type completer struct{ Options }

// flag returns how the value of a flag is completed; nil if nothing is known of it.
func (c *completer) flag(f *pflag.Flag) cobra.CompletionFunc {
	words := c.FlagValues(f)
	switch f.Name {
	case "resource", "exclude":
		return c.items(false)
	case "namespace", "exclude-namespace":
		return c.namespace
	case "for": // of dwatch wait it is a condition
		if words == nil {
			return c.items(true)
		}
	case "context":
		return c.kubeconfig(contexts, chooseOfList)
	case "cluster":
		return c.kubeconfig(clusters, chooseOne)
	case "user":
		return c.kubeconfig(users, chooseOne)
	}
	if words != nil {
		return fixed(f.Value.Type() == "stringSlice", words)
	}
	if takesFile(f) {
		return files
	}
	return nil
}

// takesFile reports whether the value of a flag is the path of a file, by its help.
func takesFile(f *pflag.Flag) bool {
	value, usage := pflag.UnquoteUsage(f)
	return value == "FILE" || value == "DIR" || strings.HasPrefix(usage, "Path to ") || f.Name == "template"
}

// fixed completes one of words, or a list of them.
func fixed(list bool, words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if list {
			return reply(chooseItem(typed, nil, words))
		}
		return reply(choose("", typed, nil, words))
	}
}

func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// kubeconfig completes a name that the kubeconfig has. It reads the files, and makes no request.
func (c *completer) kubeconfig(names func(*api.Config) []cobra.Completion, choose func(string, []cobra.Completion) []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := c.Connection.Loader().RawConfig()
		if err != nil {
			return reply(nil)
		}
		return reply(choose(typed, names(&config)))
	}
}

func chooseOne(typed string, from []cobra.Completion) []cobra.Completion {
	return choose("", typed, nil, from)
}

func chooseOfList(typed string, from []cobra.Completion) []cobra.Completion {
	return chooseItem(typed, nil, from)
}

func contexts(config *api.Config) []cobra.Completion {
	return choices(config.Contexts, func(c *api.Context) string {
		return "namespace " + cmp.Or(c.Namespace, metav1.NamespaceDefault) + " of " + c.Cluster
	})
}

func clusters(config *api.Config) []cobra.Completion {
	return choices(config.Clusters, func(c *api.Cluster) string { return fail.DisplayHost(c.Server) })
}

func users(config *api.Config) []cobra.Completion {
	return choices(config.AuthInfos, func(*api.AuthInfo) string { return "" })
}

// choices are the names in a part of the kubeconfig, in order.
func choices[T any](named map[string]T, describe func(T) string) []cobra.Completion {
	var found []cobra.Completion
	for name, what := range named {
		found = append(found, choice(name, describe(what)))
	}
	return slices.Sorted(slices.Values(found))
}
