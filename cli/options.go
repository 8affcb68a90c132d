package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/filter"
)

// options are the flags as typed, a struct for each of flagGroups. parse turns
// them into a request; nothing below that reads a raw string.
type options struct {
	targetFlags
	eventFlags
	outputFlags
	receiverFlags
	pageFlags
	runFlags
	messageFlags
	listenFlags
	connection cluster.Flags

	given func(flag string) bool
	dash  func() int // how many arguments stand before "--"; -1 if there is none
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
	about         *mapper.Argument // what events are to be about; nil: anything
	list          bool
	ignoreMissing bool // of list: a named object that is not there is no error
	managedFields bool
	state         string // a file; empty: none
	quiet         bool
	heartbeat     time.Duration // 0: none
	timeout       time.Duration // 0: none
	rbac          rbac
	conditions    conditions
	listen        string // HOST:PORT; empty: nowhere
	receiving
	filter filter.Options
	print  output.Options
	view   viewFlags // for the format "changes"
	live   bool
	page   pageFlags
}

// parse checks all that can be checked without a server. It touches nothing but the
// file of a template. Its errors are wrong usage.
func (o *options) parse(args []string, terminal terminal) (*request, error) {
	r, err := o.request(args, terminal)
	if err != nil {
		return nil, fail.Usage(err)
	}
	return r, nil
}

func (o *options) request(args []string, terminal terminal) (*request, error) {
	args, command := o.cutCommand(args)
	if o.hasReceiver() {
		terminal.isTerminal = false // nobody sees what is sent
	}
	o.chooseFormat(terminal)
	r := &request{quiet: o.quiet, timeout: o.timeout}
	if o.given("redeliver") {
		return r, cmp.Or(o.parseReceiver(r, command), o.checkRedelivery(args))
	}
	return r, cmp.Or(
		o.checkLive(terminal),
		o.parseTargets(r, args),
		o.parseReceiver(r, command),
		o.parsePage(r),
		o.parseEvents(r),
		o.checkTogether(),
		o.checkView(),
		o.checkCompare(),
		o.checkTemplate(),
		o.checkTable(),
		o.parseOutput(r, terminal),
		o.parseRun(r),
		o.parseListen(r),
	)
}

// minHeartbeat keeps heartbeats from drowning the events.
const minHeartbeat = time.Second

// checkTogether finds values and flags that make no sense together.
func (o *options) checkTogether() error {
	for _, name := range []string{"watch-only", "types", "old", "changes", "patch", "marks", "heartbeat", "wait", "state"} {
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
	case (o.output == "name" || o.output == noFormat) && (o.marks || o.heartbeat != 0):
		return errors.New("-o " + o.output + " can't show --marks and --heartbeat: use -o json or -o yaml")
	case o.heartbeat != 0 && o.heartbeat < minHeartbeat:
		return fmt.Errorf("invalid --heartbeat %s: it takes a duration of at least %s", o.heartbeat, minHeartbeat)
	case o.timeout < 0:
		return errInvalidTimeout(o.timeout)
	}
	return nil
}

func errInvalidTimeout(given time.Duration) error {
	return fmt.Errorf("invalid --timeout %s: it takes a positive duration such as 30s, 5m or 1h", given)
}
