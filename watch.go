package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/term"
	"k8s.io/client-go/rest"

	"dwatch/cli/plan"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

// dwatch does what the command line asks for, and blocks until that is done or
// ctx ends.
func dwatch(ctx context.Context, o *options, args []string, s streams) error {
	quietClient(s.err, o.verbosity)
	terminal := terminal{isTerminal: term.IsTerminal(int(s.out.Fd())), noColor: os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"}
	request, err := o.parse(args, terminal)
	if err != nil {
		return err
	}
	t := &talk{w: s.err, down: map[string]bool{}, denied: map[string]bool{}, checked: map[string]bool{}}
	warnings := rest.WarningHandler(rest.NewWarningWriter(s.err, rest.WarningWriterOptions{Deduplicate: true}))
	if request.quiet {
		t.w, warnings = io.Discard, rest.NoWarnings{}
	}
	cluster, err := o.connection.connect(warnings)
	if err != nil {
		return err
	}
	ctx, stop := untilReaderGone(ctx, s.out)
	defer stop()
	if request.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, request.timeout, errTimeout)
		defer cancel()
	}
	j := &job{request: request, cluster: cluster, talk: t, out: stdout{s.out}}
	return ended(ctx, j.run(ctx), request.list || request.rbac.print)
}

// job is one request at one cluster.
type job struct {
	*request
	*cluster
	talk   *talk
	out    io.Writer
	rights *rights
	as     string // of --as, where nothing is done as that user
}

func (j *job) run(ctx context.Context) (err error) {
	if j.rbac.print {
		if j.cluster, j.as, err = j.asOneself(); err != nil {
			return err
		}
	}
	d, err := j.discovery()
	if err != nil {
		return err
	}
	j.talk.mapper = mapper.New(d)
	planner := plan.New(j.planned(), j.talk.mapper)
	p, err := planner.First(ctx)
	if err != nil {
		return j.unplanned(err)
	}
	for _, note := range p.Notes {
		j.talk.say("%s", note)
	}
	if j.rights, err = newRights(j.cluster, j.request); err != nil {
		return err
	}
	if j.rbac.print {
		return j.printRBAC(ctx, p)
	}
	return j.rights.detailAll(ctx, j.follow(ctx, p, planner))
}

// planned is what is to be planned.
func (j *job) planned() plan.Request {
	return plan.Request{
		Arguments:     j.arguments,
		Exclude:       j.exclude,
		Namespaces:    j.namespaces,
		AllNamespaces: j.allNamespaces,
		Home:          j.namespace,
		Wait:          j.wait,
		Ask:           j.ask,
	}
}

// unplanned says of what kind the error of a planner is.
func (j *job) unplanned(err error) error {
	if _, ok := errors.AsType[*plan.UsageError](err); ok {
		return usageError{err}
	}
	return serverError{j.host, err}
}

// follow lists or watches what is planned.
func (j *job) follow(ctx context.Context, p *plan.Plan, resolver watcher.Resolver) (err error) {
	ctx, state, err := j.openState(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = state.end(err) }()
	printer, err := output.New(state, j.print)
	if err != nil {
		return err
	}
	emit, flush := state.stage(j.keep.filter(printer.Print), printer.Flush)
	w, err := watcher.New(watcher.Options{
		Config:         j.config,
		HTTP:           j.http,
		Resolver:       resolver,
		Targets:        slices.Concat(p.Targets, state.orphans),
		Follow:         p.Live,
		LabelSelector:  j.selector,
		FieldSelector:  j.fieldSelector,
		ManagedFields:  j.managedFields,
		KeepContent:    j.list || j.old,
		RequestTimeout: j.requestTimeout,
		Heartbeat:      j.heartbeat,
		Past:           state.past,
		Idle:           flush,
	})
	if err != nil {
		return err
	}
	if !p.Live {
		tuneRun(len(p.Targets))
	}
	if j.list {
		tuneLong()
		return list(ctx, w, printer)
	}
	return j.watch(ctx, w, p, state.note, emit)
}

// watch watches, with what there is to say about it.
func (j *job) watch(ctx context.Context, w *watcher.Watcher, p *plan.Plan, note string, emit func(event.Event) error) error {
	j.rights.several = len(p.Targets) > 1
	if !j.quiet {
		j.talk.rights = j.rights
	}
	ctx, cancel := context.WithCancel(ctx)
	defer j.talk.asides.wait()
	defer cancel() // nobody waits for an answer any more
	j.talk.begin(p.Targets, note)
	return w.Run(ctx, tuned(j.talk.hear(ctx, emit)))
}

// list prints all, or nothing: half a List would look like a whole one.
func list(ctx context.Context, w *watcher.Watcher, p *output.Printer) error {
	objects, err := w.List(ctx)
	if err != nil {
		return err
	}
	return p.List(objects)
}
