package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/output/change"
	"dwatch/watcher/filter"
)

// options are the flags as typed. parse turns them into a request; nothing
// below that reads a raw string.
type options struct {
	resources     []string
	exclude       []string
	namespaces    []string
	allNamespaces bool
	selector      string
	fieldSelector string
	output        string
	view          viewFlags
	wait          bool
	list          bool
	printRBAC     bool
	watchOnly     bool
	types         []string
	marks         bool
	heartbeat     time.Duration
	timeout       time.Duration
	color         string
	managedFields bool
	old           bool
	state         string
	quiet         bool
	verbosity     int
	connection    cluster.Flags

	given func(flag string) bool
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	o.given = f.Changed
	f.StringArrayVarP(&o.resources, "resource", "r", nil, "What to watch: `RESOURCE`, RESOURCE/NAME or a list of them, separated by commas (repeatable); '*' is all that can be watched")
	f.StringSliceVar(&o.exclude, "exclude", nil, "Leave out `RESOURCE`, where '*' or a category would have it (repeatable, commas)")
	f.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "`NAMESPACE` to watch in (repeatable, commas); by default that of the kubeconfig context")
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Watch in all namespaces, whatever -n says")
	f.StringVarP(&o.selector, "selector", "l", "", "Label `SELECTOR`, e.g. app=web,tier!=cache")
	f.StringVar(&o.fieldSelector, "field-selector", "", "Field `SELECTOR`, e.g. status.phase=Running; the server knows few fields of each type")
	f.StringVarP(&o.output, "output", "o", "", "Output `FORMAT`: "+strings.Join(formats, ", ")+"; by default json, and at a terminal changes")
	o.addViewFlags(f)
	f.BoolVar(&o.list, "list", false, "Print what is there as one List, and end")
	f.BoolVar(&o.wait, "wait", false, "Wait for a resource that the server does not have yet")
	f.BoolVar(&o.printRBAC, "print-rbac", false, "Print the smallest roles that allow this, with bindings for the present user or that of --as, and end")
	f.BoolVar(&o.watchOnly, "watch-only", false, "Leave out the objects that exist at the start")
	f.StringSliceVar(&o.types, "types", nil, "Print only events of these `TYPES`: added, modified, deleted")
	f.BoolVar(&o.marks, "marks", false, "Print marks, too, as lines without object: SYNCED, DISCONNECTED, RECONNECTED, GAP, GONE, ARRIVED, DENIED")
	f.DurationVar(&o.heartbeat, "heartbeat", 0, "Print a HEARTBEAT line every `DURATION`, e.g. 30s: whether all is connected, and when the last event came")
	f.DurationVar(&o.timeout, "timeout", 0, "End after this `DURATION`, e.g. 10m, with exit code 0")
	f.BoolVar(&o.old, "old", false, "Show with each MODIFIED object, as \"old\", the state before; keeps all content in memory")
	f.StringVar(&o.state, "state", "", "Carry on from `FILE`: keep in it what was printed, and after a restart print only what is different")
	f.BoolVar(&o.managedFields, "show-managed-fields", false, "Keep metadata.managedFields")
	f.StringVar(&o.color, "color", "auto", "Colour JSON: auto (at a terminal, unless NO_COLOR is set), always, never")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "Nothing but errors on stderr")
	f.IntVarP(&o.verbosity, "v", "v", 0, "Log level of the Kubernetes client on stderr; 6 shows each request")
	f.BoolP("watch", "w", false, "Without effect: dwatch watches")
	for _, name := range []string{"exclude", "namespace", "output", "types"} {
		flag := f.Lookup(name)
		flag.Value = filled{flag.Value}
		flag.DefValue = strings.Trim(flag.DefValue, "[]") // or help would show it
	}
	o.connection.UserAgent = userAgent()
	o.connection.AddFlags(f)
	takeOnce(f)
}

func (o *options) addViewFlags(f *pflag.FlagSet) {
	v := &o.view
	f.BoolVar(&v.initial, "initial", false, "With -o changes, show each object that exists at the start; else they are counted")
	f.BoolVar(&v.timestamps, "timestamps", false, "With -o changes, show the date and milliseconds")
	f.BoolVar(&v.full, "full", false, "With -o changes, shorten no value")
	f.StringArrayVar(&v.only, "only", nil, "With -o changes, show only what changes at or below `PATH`, e.g. spec, 'spec.containers[*].image' or 'status.conditions[type=Ready]' (repeatable)")
	f.StringArrayVar(&v.ignore, "ignore", nil, "With -o changes, count what changes at or below `PATH` as noise (repeatable)")
	f.BoolVar(&v.noise, "noise", false, "With -o changes, show noise, too: resourceVersion, managedFields, heartbeats and their like")
	f.StringArrayVar(&v.mask, "mask", nil, "With -o changes, show the values at or below `PATH` as size and hash (repeatable); those of Secrets are")
	f.BoolVar(&v.showSecrets, "show-secrets", false, "With -o changes, show the values of Secrets")
}

// request is a command line that makes sense.
type request struct {
	arguments     []mapper.Argument
	exclude       []string
	wait          bool
	namespaces    []string // as given; empty: the context's
	allNamespaces bool
	selector      string
	fieldSelector string
	list          bool
	managedFields bool
	old           bool
	state         string // a file; empty: none
	quiet         bool
	heartbeat     time.Duration // 0: none
	timeout       time.Duration // 0: none
	rbac          rbac
	filter        filter.Options
	print         output.Options
	view          viewFlags      // for the format "changes"
	compare       change.Options // for the same
}

// parse checks all that can be checked without a server. It touches nothing. Its
// errors are wrong usage.
func (o *options) parse(args []string, terminal terminal) (*request, error) {
	r, err := o.request(args, terminal)
	if err != nil {
		return nil, fail.Usage(err)
	}
	return r, nil
}

func (o *options) request(args []string, terminal terminal) (*request, error) {
	r := &request{
		exclude:       o.exclude,
		wait:          o.wait,
		allNamespaces: o.allNamespaces,
		selector:      o.selector,
		fieldSelector: o.fieldSelector,
		list:          o.list,
		managedFields: o.managedFields,
		old:           o.old,
		state:         o.state,
		quiet:         o.quiet,
		heartbeat:     o.heartbeat,
		timeout:       o.timeout,
		filter:        filter.Options{WatchOnly: o.watchOnly, Marks: o.marks},
		view:          o.view,
	}
	o.chooseFormat(terminal)
	r.filter.Marks = r.filter.Marks || o.output == changesFormat // they say what is there at the start
	var err error
	if r.arguments, err = mapper.ParseArguments(o.resources, args); err != nil {
		return nil, err
	}
	if r.namespaces, err = parseNamespaces(o.namespaces); err != nil {
		return nil, err
	}
	if err = o.checkSelectors(r.arguments); err != nil {
		return nil, err
	}
	if r.filter.Types, err = filter.ParseTypes(o.types); err != nil {
		return nil, err
	}
	if err = cmp.Or(o.checkTogether(), o.checkView()); err != nil {
		return nil, err
	}
	if r.compare, err = o.comparing(); err != nil {
		return nil, err
	}
	if r.print, err = o.printing(terminal); err != nil {
		return nil, err
	}
	r.rbac, err = o.printingRBAC()
	return r, err
}

// minHeartbeat keeps heartbeats from drowning the events.
const minHeartbeat = time.Second

// checkTogether finds values and flags that make no sense together.
func (o *options) checkTogether() error {
	for _, name := range []string{"watch-only", "types", "old", "marks", "heartbeat", "wait", "state"} {
		if o.list && o.given(name) {
			return fmt.Errorf("--list prints what is there, and ends: it does not go with --%s", name)
		}
	}
	switch {
	case o.printRBAC && o.wait:
		return errors.New("--print-rbac has to know the resources: it does not go with --wait")
	case o.given("state") && o.state == "":
		return errors.New("--state takes a file")
	case slices.ContainsFunc(o.exclude, func(name string) bool { return name == "" || strings.Contains(name, "/") }):
		return fmt.Errorf("invalid --exclude %q: it takes resources", strings.Join(o.exclude, ","))
	case o.output == "name" && (o.marks || o.heartbeat != 0):
		return errors.New("-o name has no words for --marks and --heartbeat: they need -o json or -o yaml")
	case o.heartbeat != 0 && o.heartbeat < minHeartbeat:
		return fmt.Errorf("invalid --heartbeat %s: it takes a duration of at least %s", o.heartbeat, minHeartbeat)
	case o.timeout < 0:
		return fmt.Errorf("invalid --timeout %s: it takes a positive duration such as 30s, 5m or 1h", o.timeout)
	}
	return nil
}

func parseNamespaces(given []string) ([]string, error) {
	var namespaces []string
	for _, n := range given {
		n, err := clientcmd.RemoveNamespacesPrefix(strings.TrimSpace(n))
		if err != nil {
			return nil, err
		}
		if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			return nil, fmt.Errorf("invalid namespace %q: %s", n, wrong[0])
		}
		if !slices.Contains(namespaces, n) {
			namespaces = append(namespaces, n)
		}
	}
	return namespaces, nil
}

func (o *options) checkSelectors(arguments []mapper.Argument) error {
	if _, err := labels.Parse(o.selector); err != nil {
		return fmt.Errorf("invalid label selector %q: %w", o.selector, err)
	}
	if _, err := fields.ParseSelector(o.fieldSelector); err != nil {
		return fmt.Errorf("invalid field selector %q: %w", o.fieldSelector, err)
	}
	named := slices.ContainsFunc(arguments, func(a mapper.Argument) bool { return a.Name != "" })
	if named && (o.selector != "" || o.fieldSelector != "") {
		return fmt.Errorf("name cannot be provided when a selector is specified")
	}
	return nil
}

// terminal is what parse has to know of the world.
type terminal struct {
	isTerminal bool
	noColor    bool
}

func (o *options) printing(t terminal) (output.Options, error) {
	p := output.Options{Format: o.output, Terminal: t.isTerminal}
	switch o.color {
	case "auto":
		p.Color = t.isTerminal && !t.noColor
	case "always":
		p.Color = true
	case "never":
	default:
		return p, fmt.Errorf("invalid --color %q: it takes auto, always or never", o.color)
	}
	if o.output == changesFormat {
		return p, nil
	}
	return p, checkFormat(o.output)
}

// rbac says whether roles are printed, and how.
type rbac struct {
	print  bool
	format string // json or yaml
}

func (o *options) printingRBAC() (rbac, error) {
	r := rbac{print: o.printRBAC, format: "yaml"}
	if r.print && o.given("output") {
		r.format = o.output
	}
	if r.format != "yaml" && r.format != "json" {
		return r, fmt.Errorf("--print-rbac prints yaml or json, not %s", r.format)
	}
	return r, nil
}
