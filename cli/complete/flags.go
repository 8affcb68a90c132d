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

// completer completes the arguments and flags of one command. Only the methods in server.go make requests.
type completer struct{ Options }

// flag returns the completion function for the value of a flag, or nil if there is none.
func (c *completer) flag(f *pflag.Flag) cobra.CompletionFunc {
	words := c.FlagValues(f)
	switch f.Name {
	case "resource", "exclude":
		return c.items(false)
	case "namespace", "exclude-namespace":
		return c.namespace
	case "for": // dwatch wait has another flag of this name, which takes a condition
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

// takesFile reports whether the help of a flag says that its value is a path.
func takesFile(f *pflag.Flag) bool {
	value, usage := pflag.UnquoteUsage(f)
	return value == "FILE" || value == "DIR" || strings.HasPrefix(usage, "Path to ") || f.Name == "template"
}

// fixed returns a function that completes one of words, or a list of them.
func fixed(list bool, words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if list {
			return reply(chooseItem(typed, nil, words))
		}
		return reply(choose("", typed, nil, words))
	}
}

// files makes the shell complete paths.
func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// kubeconfig returns a function that completes names from the kubeconfig. It makes no requests.
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

// choices returns the sorted names of a map in the kubeconfig, with descriptions.
func choices[T any](named map[string]T, describe func(T) string) []cobra.Completion {
	var found []cobra.Completion
	for name, value := range named {
		found = append(found, choice(name, describe(value)))
	}
	return slices.Sorted(slices.Values(found))
}
