package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/complete"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/cli/run"
	"dwatch/cli/version"
	"dwatch/internal/spelling"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
)

// PluginName is the name under which kubectl finds dwatch as "kubectl dwatch".
const PluginName = "kubectl-dwatch"

// options are the flags of a command.
type options interface {
	groups() []flags.Group
	// complete reads the flags and arguments. Its errors are usage errors, like the errors of validate. Neither contacts a server.
	complete(args []string, t console.Terminal) error
	// validate returns an error for values that cannot be combined.
	validate() error
	// task returns the task that the options describe.
	task() task
	shared() *common
}

// task is the work of a valid command line.
type task interface {
	// run blocks until it is done or ctx ends.
	run(ctx context.Context, c *console.Console) error
}

// watcherTask is a task that takes long, so that its messages have a time.
type watcherTask interface{ isLasting() bool }

func isLasting(t task) bool {
	w, is := t.(watcherTask)
	return is && w.isLasting()
}

// judgingTask is a task that shows or waits for the states of objects. The user's rules about states are then read at the
// start, and otherwise only when a custom resource is judged: the plain stream does not pay for them.
type judgingTask interface{ judgesStates() bool }

func judgesStates(t task) bool {
	j, is := t.(judgingTask)
	return is && j.judgesStates()
}

// common are the flags that all commands have.
type common struct {
	targets    flags.Targets
	object     *mapper.Argument // of --for, or nil
	readiness  flags.Readiness
	messages   flags.Logging
	connection cluster.Flags
	listOnly   bool           // the command lists objects once
	all        *pflag.FlagSet // all flags of the command
	server     *pflag.FlagSet // the flags of the connection
}

func (c *common) shared() *common { return c }

type description struct {
	name     string
	use      string // the arguments after the name
	short    string
	long     string
	examples string // %[1]s is dwatch
	// mainFlags are the names of the flags that short help shows, in this order. Most users of the command need them.
	mainFlags []string
	options   func() options
	// wrap returns the options of a command that takes another command line, such as dwatch rbac send. of are the options of the inner
	// command or of the stream, and typed is the whole command line. wrap is nil for other commands.
	wrap    func(of options, typed []string) options
	wrapped []string // the names of possible inner commands
}

// commands are all commands but the stream, which has no name. A resource with the name of a command is named with -r.
var commands = []description{listDescription, liveDescription, serveDescription, sendDescription, recordDescription, diffDescription, exportDescription, waitDescription, explainReadinessDescription, topDescription, rbacDescription, manifestsDescription}

// newRoot returns the root command. The program is called dwatch, or "kubectl dwatch" as a plugin.
func newRoot(name string, args []string, s Streams) *cobra.Command {
	display := "dwatch"
	if name == PluginName || name == complete.PluginName {
		display = "kubectl dwatch"
	}
	root, groups := newCommand(streamDescription, display, args, s)
	script := complete.NewScriptCommand(display)
	help := newHelpCommand(display, &helpPrinter{groups, streamDescription.mainFlags, helpWidth(s.Out)})
	flags.AddHelp(script.Flags())
	flags.AddHelp(help.Flags())
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: display}
	root.Version = version.Text()
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetVersionTemplate("{{.Version}}\n")
	addCommands(root, display, args, commands, s)
	root.AddCommand(script)
	root.SetHelpCommand(help)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}

// addCommands adds commands to parent. Commands that no argument names get no flags, which would slow down the start.
func addCommands(parent *cobra.Command, display string, args []string, some []description, s Streams) {
	for _, d := range some {
		if !slices.Contains(args, d.name) {
			parent.AddCommand(&cobra.Command{Use: d.name, Short: d.short, Run: func(*cobra.Command, []string) {}})
			continue
		}
		cmd, _ := newCommand(d, display, args, s)
		parent.AddCommand(cmd)
		addCommands(cmd, display, args, wrappedBy(d, some, args), s)
	}
}

// wrappedBy returns the possible inner commands of a command, with its options around their options.
func wrappedBy(by description, some []description, args []string) (wrapped []description) {
	for _, d := range some {
		if of := d.options; slices.Contains(by.wrapped, d.name) {
			d.options = func() options { return by.wrap(of(), args) }
			d.wrap, d.wrapped = by.wrap, nil
			d.long, d.examples, d.mainFlags = by.long, by.examples, by.mainFlags // that is what the command line does
			wrapped = append(wrapped, d)
		}
	}
	return wrapped
}

// newOptions returns the options of the command. If it takes a command line, the inner command is the stream.
func (d description) newOptions(args []string) options {
	if d.options == nil {
		return d.wrap(new(streamOptions), args)
	}
	return d.options()
}

func newCommand(d description, display string, args []string, s Streams) (*cobra.Command, []flags.Group) {
	o := d.newOptions(args)
	cmd := &cobra.Command{
		Use:                   strings.TrimSpace(d.name + " " + d.use),
		Short:                 d.short,
		Long:                  d.long,
		Example:               strings.TrimRight(fmt.Sprintf(d.examples, display), "\n"),
		Args:                  cobra.ArbitraryArgs,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			common := o.shared()
			s.SetFormat(common.messages.Format)
			if err := checkDash(cmd, args); err != nil {
				return fail.Usage(err)
			}
			if common.messages.UTC {
				time.Local = time.UTC // before the first use of a clock
			}
			if common.readiness.IsSet() {
				if err := common.readiness.Load(); err != nil {
					return fail.Usage(err)
				}
			}
			t := console.TerminalOf(s)
			err := o.complete(args, t)
			if err == nil {
				err = o.validate()
			}
			switch {
			case errors.Is(err, mapper.ErrNoResource) && t.IsTerminal && !cmd.HasParent():
				return printFirstSteps(cmd.Context(), s.Err, display, &common.connection)
			case err != nil:
				return fail.Usage(explainArguments(cmd, err))
			}
			task := o.task()
			if !common.readiness.IsSet() && judgesStates(task) {
				if err := common.readiness.Load(); err != nil {
					return fail.Usage(err)
				}
			}
			c := console.New(s, common.messages, isLasting(task))
			defer c.Close()
			if !common.readiness.IsSet() && !judgesStates(task) {
				common.readiness.LoadLater(func(err error) {
					c.Warn("warning: the rules about states are not used: " + output.EscapeLine(err.Error()))
				})
			}
			err = task.run(cmd.Context(), c)
			if !cmd.HasParent() {
				err = explainUnknownCommand(args, err)
			}
			return err
		},
	}
	groups := addFlags(cmd.Flags(), o)
	help := &helpPrinter{groups, d.mainFlags, helpWidth(s.Out)}
	cmd.SetHelpFunc(help.printHelp)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var b strings.Builder
		help.writeUsage(&b, cmd, wantsAll(cmd))
		_, err := io.WriteString(cmd.OutOrStderr(), b.String())
		return err
	})
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		s.SetFormat(flags.DetectLogFormat(args))
		return fail.Usage(flagError(cmd, args, err))
	})
	complete.Register(cmd, complete.Options{Connection: &o.shared().connection, FlagValues: flags.CompletionValues, Targets: o.shared().targetsOf, ListOnly: o.shared().listOnly, FirstArgIsDirectory: strings.HasPrefix(d.use, "DIR ")})
	return cmd, groups
}

// addFlags adds the flags of o to f, and returns their groups.
func addFlags(f *pflag.FlagSet, o options) []flags.Group {
	f.SortFlags = false
	o.shared().all = f
	groups := groupsOf(o)
	for _, g := range groups {
		f.AddFlagSet(g.Flags)
	}
	return groups
}

// groupsOf returns all flags of o, its own ones first.
func groupsOf(o options) []flags.Group {
	shared := o.shared()
	shared.connection.UserAgent = version.UserAgent()
	server := flags.NewGroup("Connection to the cluster", shared.connection.AddFlags)
	shared.server = server.Flags
	return append(o.groups(), flags.NewGroup("State of custom resources", shared.readiness.AddTo), flags.NewGroup("Messages and help", shared.messages.AddTo), server)
}

// selected returns the selection of the arguments and flags.
func (c *common) selected(args []string) (run.Selection, error) {
	withRelated := c.object != nil && !c.targets.HasResources(args)
	if withRelated {
		args = []string{c.object.String()}
	}
	request, err := c.targets.Parse(args)
	request.ListOnly = c.listOnly
	if err == nil && withRelated && (request.AllNamespaces || request.SelectsNamespaces() || len(request.Namespaces) > 1) {
		err = fmt.Errorf("--for %s selects objects that belong to one object: give its namespace with -n NAMESPACE", c.object)
	}
	if err == nil {
		err = c.checkShard(request.Arguments)
	}
	return run.Selection{Request: request, Object: c.object, WithRelated: withRelated}, err
}

// targetsOf resolves arguments with the flags that are given so far, for completion.
func (c *common) targetsOf(ctx context.Context, k *cluster.Cluster, m *mapper.Mapper, arguments []mapper.Argument) ([]event.Target, error) {
	r, err := c.targets.BuildRequest(arguments)
	if err != nil {
		return nil, err
	}
	r.DefaultNamespace, r.ListOnly = k.Namespace, c.listOnly
	p, err := plan.New(r, m).InitialPlan(ctx)
	if err != nil {
		return nil, err
	}
	return p.Targets, nil
}

func flagError(cmd *cobra.Command, args []string, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	explained := flags.ExplainParseError(err, flagsHelp(cmd))
	if !ok {
		return explained
	}
	if instead := flags.KubectlFlagError(unknown); instead != nil {
		return instead
	}
	name, short := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames() != ""
	if short && name == "w" { // kubectl's
		name, short = "watch", false
	}
	if short {
		return explained
	}
	if instead := moved(cmd, args, name); instead != nil {
		return instead
	}
	if meant := spelling.Nearest(name, namesOf(cmd.Flags())); meant != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, meant)
	}
	return explained
}

// explainArguments adds command lines of cmd to errors about its arguments.
func explainArguments(cmd *cobra.Command, err error) error {
	if errors.Is(err, mapper.ErrNoResource) {
		return fmt.Errorf("%w: name a type, as in '%s pods', or an object, as in '%[2]s deploy/web'", err, pathOf(cmd))
	}
	if mixed, ok := errors.AsType[*mapper.MixedFormsError](err); ok {
		explained := *mixed
		explained.Command, explained.HasSubcommands = pathOf(cmd), !cmd.HasParent()
		switch cmd.Name() {
		case recordDescription.name:
			explained.Command += " DIR"
		case exportDescription.name:
			explained.Command += " FILE"
		}
		return &explained
	}
	return err
}

// flagsHelp is the command line that prints all flags of a command.
func flagsHelp(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.DisplayName() + " help flags"
	}
	return pathOf(cmd) + " --" + flags.HelpAll
}

func pathOf(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.DisplayName()
	}
	return pathOf(cmd.Parent()) + " " + cmd.Name()
}

func namesOf(f *pflag.FlagSet) (names []string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	return names
}
