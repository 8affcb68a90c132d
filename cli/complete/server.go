// Package complete completes command lines of dwatch: it answers completion requests of shells, and
// writes the scripts that make these requests.
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

// deadline limits how long completion takes, because the user is waiting.
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

// items returns a function that completes a list of TYPE and TYPE/NAME. If pairs is true, each item must be TYPE/NAME.
func (c *completer) items(pairs bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		head, item := lastItem(typed)
		return reply(c.ask(cmd.Context(), func(ctx context.Context, s server) []cobra.Completion {
			return s.item(ctx, given(cmd, head, args), head, item, pairs)
		}))
	}
}

// namespace completes a list of namespaces.
func (c *completer) namespace(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, item := lastItem(typed)
	return reply(c.ask(cmd.Context(), func(ctx context.Context, s server) []cobra.Completion {
		given, err := cmd.Flags().GetStringSlice("namespace")
		if err != nil {
			panic(err) // a programming error: the flag has another type
		}
		namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
		return chooseItem(typed, given, s.list(ctx, namespaces, "", item))
	}))
}

// given returns the resources and objects on the command line so far, or nil if they are invalid. head
// contains the complete items of the current word.
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

// server is a connection to the server that the command line selects.
type server struct {
	Options
	cluster *cluster.Cluster
	mapper  *mapper.Mapper
	objects metadata.Interface
	cut     *atomic.Bool // set if list left out names
}

// ask connects to the server and returns the choices of question. Requests are canceled after the deadline.
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
