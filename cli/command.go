package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dwatch/cli/cluster"
	"dwatch/cli/complete"
	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
	"dwatch/watcher/until"
)

// PluginName is the name under which kubectl finds dwatch as "kubectl dwatch".
const PluginName = "kubectl-dwatch"

const examples = `  # What changes among the deployments of a namespace
  %[1]s -r deployments -n default

  # Short names, several resources in one stream, all namespaces
  %[1]s po,deploy,sts -A

  # What there is, as a table that changes in place
  %[1]s deploy,rs,po --live

  # What is told of a deployment and of what it owns
  %[1]s events --for deploy/web

  # One object, from a custom resource
  %[1]s crontabs/my-cron

  # As JSON to a program: the names of what is deleted
  %[1]s jobs -A | jq -r 'select(.type=="DELETED") | .object.metadata.name'

  # In a CI job: exit code 0 if it rolls out, 3 if that fails, 124 if it is late
  %[1]s deploy/web --until ready --fail-if failed --timeout 5m -o none

  # Only what an expression is true of: a new image, and who set it
  %[1]s deploy,sts,ds -A --where "changed('..image')"

  # Only what happens from now on, and only additions and deletions
  %[1]s pods -l app=web --watch-only --types added,deleted

  # Everything that happens in a namespace, and what happens to the watch itself
  %[1]s '*' --exclude events -n web --marks

  # After a restart only what is different from what was printed
  %[1]s deployments --state deployments.state

  # A command for each event, which gets it on stdin, and again if it fails
  %[1]s jobs -A -- ./hook.sh

  # A webhook, which gets each event as a CloudEvent, until it answers with 2xx
  %[1]s jobs -A --to https://broker.example.com --to-token-file token

  # A page in the browser that shows what is there and what changes
  %[1]s deploy,rs,po -A -o none --serve --open

  # What exists, as one List, without watching
  %[1]s cm,secrets -n kube-system --list -o yaml

  # The role with which a service account may watch deployments
  %[1]s deploy --print-rbac --as system:serviceaccount:ops:watcher`

const long = `Watch any resource of a Kubernetes cluster and print each change.

At a terminal it shows what changed, and which program did it. In a pipe each
line is an event: {"type":"ADDED","object":{...}}, then MODIFIED and DELETED.
What exists at the start comes first, as ADDED with "initial":true. It resumes
a lost connection, and ends only when you end it. SIGUSR1 makes it say on stderr
how the watch is.

Name resources as with kubectl: pods, po, pod, deployments.apps,
deployments.v1.apps, pods/web-1, pods web-1 web-2, deploy,sts, or a category
such as all. Custom resources work like the built-in ones.`

// newCommand returns the command line, as the program is called: dwatch, or
// "kubectl dwatch" as a plugin.
func newCommand(name string, s Streams) *cobra.Command {
	display := "dwatch"
	if name == PluginName || name == complete.PluginName {
		display = "kubectl dwatch"
	}
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "dwatch [-r RESOURCE]... [TYPE[,TYPE...] [NAME...] | TYPE/NAME...] [flags]\n      [-- COMMAND [ARG...]]",
		Annotations:           map[string]string{cobra.CommandDisplayNameAnnotation: display},
		Short:                 "Watch any Kubernetes resource",
		Long:                  long,
		Example:               fmt.Sprintf(examples, display),
		Version:               version(),
		Args:                  cobra.ArbitraryArgs,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), o, args, s)
		},
	}
	cmd.SetOut(s.Out)
	cmd.SetErr(s.Err)
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fail.Usage(flagError(c.Flags(), display, err))
	})
	groups := o.addFlags(cmd.Flags())
	cmd.SetUsageFunc(func(c *cobra.Command) error { return printUsage(c, groups, helpWidth(s.Out)) })
	complete.AddCommands(cmd)
	complete.Add(cmd, complete.Options{
		Connection: &o.connection,
		Values:     map[string][]string{"output": completedFormats(), "to-format": webhookFormats, "until-for": until.Quantifiers},
		Conditions: expression.Beginnings(),
		Presets:    expression.Presets(),
		Targets:    o.targets,
	})
	return cmd
}

// targets are what arguments would watch, with the flags given so far.
func (o *options) targets(ctx context.Context, c *cluster.Cluster, m *mapper.Mapper, arguments []mapper.Argument) ([]event.Target, error) {
	namespaces, err := parseNamespaces(o.namespaces)
	if err != nil {
		return nil, err
	}
	p, err := plan.New(plan.Request{
		Arguments:     arguments,
		Namespaces:    namespaces,
		AllNamespaces: o.allNamespaces,
		Home:          c.Namespace,
	}, m).First(ctx)
	if err != nil {
		return nil, err
	}
	return p.Targets, nil
}
