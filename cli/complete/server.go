// Package complete completes a command line of dwatch: it answers a shell that
// asks, and writes the scripts with which shells do.
package complete

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"dwatch/cli/cluster"
	"dwatch/mapper"
)

// deadline is how long somebody waits for TAB.
const deadline = 2 * time.Second

// arguments completes TYPE[,TYPE...] [NAME...] and TYPE/NAME.
func (c *completer) arguments(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if c.FirstArgIsDirectory {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		args = args[1:]
	}
	pairs := mapper.HasTypeNamePairs(args)
	if len(args) == 0 || pairs {
		head, _ := lastItem(typed)
		return c.items(pairs || strings.Contains(head, "/"))(cmd, args, typed)
	}
	return reply(c.ask(cmd.Context(), func(ctx context.Context, s server) []cobra.Completion {
		given, err := mapper.ParseArguments(nil, args)
		if err != nil {
			return nil
		}
		types, _ := mapper.ParseArguments(nil, args[:1])
		return choose("", typed, nil, s.names(ctx, types, given, typed))
	}))
}

// items completes a list of TYPE and TYPE/NAME, or with pairs of TYPE/NAME alone.
func (c *completer) items(pairs bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		head, item := lastItem(typed)
		return reply(c.ask(cmd.Context(), func(ctx context.Context, s server) []cobra.Completion {
			return s.item(ctx, given(cmd, head, args), head, item, pairs)
		}))
	}
}

// namespace completes a value of --namespace, a list.
func (c *completer) namespace(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, item := lastItem(typed)
	return reply(c.ask(cmd.Context(), func(ctx context.Context, s server) []cobra.Completion {
		given, err := cmd.Flags().GetStringSlice("namespace")
		if err != nil {
			panic(err) // it is a flag of another kind
		}
		namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
		return chooseItem(typed, given, s.list(ctx, namespaces, "", item))
	}))
}

// given returns what the command line names so far, if that makes sense. head
// is the part of the word being typed that is complete.
func given(cmd *cobra.Command, head string, args []string) []mapper.Argument {
	resources, _ := cmd.Flags().GetStringArray("resource") // a command may not have the flag
	if list := strings.TrimSuffix(head, ","); list != "" {
		resources = append(slices.Clone(resources), list)
	}
	given, err := mapper.ParseArguments(resources, args)
	if err != nil {
		return nil
	}
	return given
}

// server is where the command line leads to.
type server struct {
	Options
	cluster *cluster.Cluster
	mapper  *mapper.Mapper
	objects metadata.Interface
	cut     *atomic.Bool // there are more names than were looked at
}

// ask returns what question finds at the server, if that answers in time.
func (c *completer) ask(ctx context.Context, question func(context.Context, server) []cobra.Completion) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	s, err := c.connect()
	if err != nil {
		return nil
	}
	choices := question(ctx, s)
	if s.cut.Load() {
		choices = cobra.AppendActiveHelp(choices, "there are more names than these")
	}
	return choices
}

func (c *completer) connect() (server, error) {
	cluster, err := c.Connection.ForFirstContext().Connect(cluster.Options{Warnings: rest.NoWarnings{}})
	if err != nil {
		return server{}, err
	}
	d, err := cluster.NewDiscoveryClient()
	if err != nil {
		return server{}, err
	}
	objects, err := metadata.NewForConfigAndClient(cluster.Config, cluster.HTTP)
	if err != nil {
		return server{}, err
	}
	return server{c.Options, cluster, mapper.New(d), objects, new(atomic.Bool)}, nil
}
