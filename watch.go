package main

import (
	"context"
	"io"
	"os"
	"slices"

	"golang.org/x/term"
	"k8s.io/client-go/rest"

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
	resolver := newPlanner(j.request, j.cluster, j.talk.mapper)
	plan, err := resolver.first(ctx)
	if err != nil {
		return err
	}
	for _, note := range plan.notes {
		j.talk.say("%s", note)
	}
	if j.rights, err = newRights(j.cluster, j.request); err != nil {
		return err
	}
	if j.rbac.print {
		return j.printRBAC(ctx, plan)
	}
	return j.rights.detailAll(ctx, j.follow(ctx, plan, resolver))
}

// follow lists or watches what is planned.
func (j *job) follow(ctx context.Context, plan *plan, resolver watcher.Resolver) (err error) {
	ctx, state, err := j.openState(ctx, plan)
	if err != nil {
		return err
	}
	defer func() { err = state.end(err) }()
	printer, err := output.New(j.out, j.print)
	if err != nil {
		return err
	}
	emit := tuned(j.talk.hear(ctx, j.keep.filter(printer.Print)))
	sink := state.around(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			if err := emit(e); err != nil {
				return err
			}
		}
		return printer.Flush()
	}))
	w, err := watcher.New(watcher.Options{
		Config:         j.config,
		HTTP:           j.http,
		Resolver:       resolver,
		Targets:        slices.Concat(plan.targets, state.orphans),
		Follow:         plan.live,
		LabelSelector:  j.selector,
		FieldSelector:  j.fieldSelector,
		ManagedFields:  j.managedFields,
		KeepContent:    j.list || j.old,
		RequestTimeout: j.requestTimeout,
		Heartbeat:      j.heartbeat,
		Past:           state.past,
	})
	if err != nil {
		return err
	}
	if !plan.live {
		tuneRun(len(plan.targets))
	}
	if j.list {
		tuneLong()
		return list(ctx, w, printer)
	}
	return j.watch(ctx, w, plan, state.note, sink)
}

// watch watches, with what there is to say about it.
func (j *job) watch(ctx context.Context, w *watcher.Watcher, plan *plan, note string, sink event.Sink) error {
	j.rights.several = len(plan.targets) > 1
	if !j.quiet {
		j.talk.rights = j.rights
	}
	ctx, cancel := context.WithCancel(ctx)
	defer j.talk.asides.wait()
	defer cancel() // nobody waits for an answer any more
	j.talk.begin(plan.targets, note)
	return w.Run(ctx, sink)
}

// list prints all, or nothing: half a List would look like a whole one.
func list(ctx context.Context, w *watcher.Watcher, p *output.Printer) error {
	objects, err := w.List(ctx)
	if err != nil {
		return err
	}
	return p.List(objects)
}
