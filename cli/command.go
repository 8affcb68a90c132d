package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/complete"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/internal/spelling"
	"dwatch/mapper"
	"dwatch/watcher/event"
)

// PluginName is the name under which kubectl finds dwatch as "kubectl dwatch".
const PluginName = "kubectl-dwatch"

// command is the flags of one, and what they mean.
type command interface {
	groups() []flags.Group
	// parse checks all that can be checked without a server. Its errors are wrong usage.
	parse(args []string, t terminal) (runner, error)
	shared() *common
}

// runner is a command line that makes sense.
type runner interface {
	// run does what is asked for, and blocks until that is done or ctx ends.
	run(ctx context.Context, c *console) error
}

// goesOn reports whether a runner watches, or sends or plays what has been watched.
func goesOn(r runner) bool {
	w, is := r.(interface{ goesOn() bool })
	return is && w.goesOn()
}

// common is what every command has.
type common struct {
	targets    flags.Targets
	object     *mapper.Argument // of --for, which not every command takes; nil: none
	readiness  flags.Readiness
	messages   flags.Logging
	connection cluster.Flags
	all        *pflag.FlagSet // of the command
	server     *pflag.FlagSet // those of the connection
}

func (c *common) shared() *common { return c }

type description struct {
	name     string
	use      string // behind the name
	short    string
	long     string
	examples string // %[1]s is dwatch
	command  func() command
	// around makes the command of one that is named behind it, or of the stream; nil: nothing is. It
	// gets what was typed, too.
	around func(of command, typed []string) command
	of     []string // the commands that it is made of
}

// commands are those beside the stream, which has no name of its own. Their names hide no
// resource: that is what -r is for.
var commands = []description{listDescription, liveDescription, serveDescription, sendDescription, recordDescription, diffDescription, exportDescription, waitDescription, explainReadinessDescription, topDescription, rbacDescription, manifestsDescription}

// newRoot returns the command line, as the program is called: dwatch, or "kubectl
// dwatch" as a plugin.
func newRoot(name string, args []string, s Streams) *cobra.Command {
	display := "dwatch"
	if name == PluginName || name == complete.PluginName {
		display = "kubectl dwatch"
	}
	root, groups := newCommand(streamDescription, display, args, s)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: display}
	root.Version = version()
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetVersionTemplate("{{.Version}}\n")
	addCommands(root, display, args, commands, s)
	root.AddCommand(complete.NewScriptCommand(display))
	root.SetHelpCommand(newHelpCommand(groups, helpWidth(s.Out)))
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}

// addCommands adds commands to parent. Those that no argument names are there for help: the
// start pays for no flags that it does not need.
func addCommands(parent *cobra.Command, display string, args []string, some []description, s Streams) {
	for _, d := range some {
		if !slices.Contains(args, d.name) {
			parent.AddCommand(&cobra.Command{Use: d.name, Short: d.short, Run: func(*cobra.Command, []string) {}})
			continue
		}
		cmd, _ := newCommand(d, display, args, s)
		parent.AddCommand(cmd)
		addCommands(cmd, display, args, wrapped(some, d, args), s)
	}
}

// wrapped are the commands that another one may be about.
func wrapped(some []description, by description, args []string) (wrapped []description) {
	for _, d := range some {
		if of := d.command; slices.Contains(by.of, d.name) {
			d.command = func() command { return by.around(of(), args) }
			d.around, d.of = by.around, nil
			wrapped = append(wrapped, d)
		}
	}
	return wrapped
}

// make returns the flags of a command, or of what it makes of the stream.
func (d description) make(args []string) command {
	if d.command == nil {
		return d.around(new(streamFlags), args)
	}
	return d.command()
}

func newCommand(d description, display string, args []string, s Streams) (*cobra.Command, []flags.Group) {
	c := d.make(args)
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
			logAs(s, c.shared().messages.Format)
			if err := checkDash(cmd, args); err != nil {
				return fail.Usage(err)
			}
			if c.shared().messages.UTC {
				time.Local = time.UTC // before anybody looks at a clock
			}
			if err := c.shared().readiness.Load(); err != nil {
				return fail.Usage(err)
			}
			t := terminalOf(s)
			r, err := c.parse(args, t)
			switch {
			case errors.Is(err, mapper.ErrNoResource) && t.isTerminal && !cmd.HasParent():
				return sayFirstSteps(cmd.Context(), s.Err, display, &c.shared().connection)
			case errors.Is(err, mapper.ErrNoResource):
				err = fmt.Errorf("%w, for example: %s pods, %[2]s deploy/web or %[2]s -r crontabs", err, pathOf(cmd))
			}
			if err != nil {
				return fail.Usage(err)
			}
			console := newConsole(s, c.shared().messages, goesOn(r))
			defer console.close()
			return r.run(cmd.Context(), console)
		},
	}
	groups := addFlags(cmd.Flags(), c)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, groups, helpWidth(s.Out)) })
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		logAs(s, flags.DetectLogFormat(args))
		return fail.Usage(flagError(cmd, args, err))
	})
	complete.Register(cmd, complete.Options{Connection: &c.shared().connection, FlagValues: flags.CompletionValues, Targets: c.shared().targetsOf, FirstArgIsDirectory: strings.HasPrefix(d.use, "DIR ")})
	return cmd, groups
}

// addFlags adds the flags of a command to f, and returns their groups.
func addFlags(f *pflag.FlagSet, c command) []flags.Group {
	f.SortFlags = false
	c.shared().all = f
	groups := groupsOf(c)
	for _, g := range groups {
		f.AddFlagSet(g.Flags)
	}
	return groups
}

// groupsOf are all flags of a command, those first that it is about.
func groupsOf(c command) []flags.Group {
	shared := c.shared()
	shared.connection.UserAgent = userAgent()
	server := flags.NewGroup("Connection to the cluster", shared.connection.AddFlags)
	shared.server = server.Flags
	return append(c.groups(), flags.NewGroup("State of custom resources", shared.readiness.AddTo), flags.NewGroup("Messages and help", shared.messages.AddTo), server)
}

// selection is what a command is about, as it was typed.
type selection struct {
	request  plan.Request
	object   *mapper.Argument // of --for; nil: none
	ofObject bool             // all that belongs to object, as nothing else is named
	// anywhere takes all namespaces for those that are chosen: others may be, another day.
	anywhere bool
	// recorded: of what is asked for, each of several clusters is asked for what was recorded there.
	recorded bool
}

// isPlaced reports whether it is said in which namespaces to look, so that those of the contexts do not
// matter.
func (s selection) isPlaced() bool {
	return s.request.AllNamespaces || s.request.SelectsNamespaces() || len(s.request.Namespaces) > 0
}

// checkNamed refuses namespaces that come and go, for what can't forget what was in them.
func (s selection) checkNamed(by string) error {
	if s.request.SelectsNamespaces() {
		return fmt.Errorf("%s does not go with namespaces that come and go yet (%s): name them, or say -A", by, s.request.NamespaceFlag())
	}
	return nil
}

func (c *common) selected(args []string) (selection, error) {
	whole := c.object != nil && !c.targets.HasResources(args)
	if whole {
		args = []string{c.object.String()}
	}
	request, err := c.targets.Parse(args)
	if err == nil && whole && (request.AllNamespaces || request.SelectsNamespaces() || len(request.Namespaces) > 1) {
		err = fmt.Errorf("--for %s is one object with all that belongs to it: say in which namespace, -n NAMESPACE", c.object)
	}
	if err == nil {
		err = c.checkShard(request.Arguments)
	}
	return selection{request: request, object: c.object, ofObject: whole}, err
}

// watchFlags are what the commands have that watch.
type watchFlags struct {
	common
	w watching
}

func (f *watchFlags) selectTargets(args []string) (err error) {
	f.w.connection = &f.connection
	f.w.selection, err = f.selected(args)
	return err
}

// targetsOf are what arguments would name, with the flags given so far.
func (c *common) targetsOf(ctx context.Context, k *cluster.Cluster, m *mapper.Mapper, arguments []mapper.Argument) ([]event.Target, error) {
	r, err := c.targets.BuildRequest(arguments)
	if err != nil {
		return nil, err
	}
	r.DefaultNamespace = k.Namespace
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

// flagsHelp is what prints all flags of a command.
func flagsHelp(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.DisplayName() + " help flags"
	}
	return pathOf(cmd) + " --help"
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
