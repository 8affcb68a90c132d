package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"
	"k8s.io/client-go/rest"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/metrics"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/owned"
)

// run does what the command line asks for, and blocks until that is done or ctx
// ends.
func run(ctx context.Context, o *options, args []string, s Streams) error {
	talk := &talk{w: s.Err}
	if o.live {
		s.Err = talk
		defer catchStderr(output.Escape(talk))()
	}
	quietClient(s.Err, o.verbosity)
	terminal := terminal{isTerminal: term.IsTerminal(int(s.Out.Fd())), noColor: os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb", isDumb: isDumb()}
	request, err := o.parse(args, terminal)
	if err != nil {
		return err
	}
	j := &job{request: request, started: time.Now(), out: stdout{s.Out}, stdout: s.Out, stderr: s.Err, reports: s.Err, talk: talk, asked: whenAsked(s.Err)}
	defer j.asked.stop()
	if request.quiet {
		j.reports = io.Discard
	}
	if !request.rbac.print {
		if j.delivery, err = j.openDelivery(); err != nil {
			return err
		}
	}
	defer j.delivery.close()
	if request.redeliver != "" {
		return j.redeliverAll(ctx, func() (*cluster.Cluster, error) { return o.connection.Connect(j.connection()) })
	}
	server, err := j.startListening()
	if err != nil {
		return err
	}
	defer server.Close()
	if j.served, err = j.openPage(); err != nil {
		return err
	}
	defer j.served.close()
	if j.Cluster, err = o.connection.Connect(j.connection()); err != nil {
		return err
	}
	asked := ctx
	if !j.delivers() { // else stdout is not written to
		var stop func()
		ctx, stop = untilReaderGone(ctx, s.Out)
		defer stop()
	}
	ctx, cancel := request.bounded(ctx)
	defer cancel()
	err = ended(ctx, j.unanswered(ctx, j.run(ctx)), request.list || request.rbac.print)
	if request.state != "" && !request.rbac.print {
		return unread(asked, ctx, err)
	}
	return err
}

// bounded returns a context that ends with --timeout.
func (r *request) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.timeout > 0 {
		return context.WithTimeoutCause(ctx, r.timeout, errTimeout)
	}
	return context.WithCancel(ctx)
}

// job is one request at one cluster.
type job struct {
	*request
	*cluster.Cluster
	started time.Time
	out     io.Writer
	stdout  *os.File // which out writes to
	stderr  io.Writer
	// reports is stderr, or nowhere with --quiet. What is missing from the events, and
	// what decides the exit code, goes to stderr all the same.
	reports  io.Writer
	talk     *talk     // what stderr is with --live
	delivery *delivery // nil: stdout
	served   *served   // nil: no page
	asked    *asked
	metrics  *metrics.Metrics // nil without --listen
	mapper   *mapper.Mapper
	rights   *access.Rights
	owned    func(next event.Sink) *owned.Stage // of --for; nil: all events
	// aboutTarget is the resource that --for names; nil without it.
	aboutTarget *event.Target
	as          string // of --as, where nothing is done as that user
}

// connection says where to go with what comes on the way to the server.
func (j *job) connection() cluster.Options {
	return cluster.Options{
		Warnings: rest.NewWarningWriter(j.reports, rest.WarningWriterOptions{Deduplicate: true}),
		Note:     func(line string) { report.Line(j.reports, line) },
	}
}

func (j *job) run(ctx context.Context) (err error) {
	if j.rbac.print {
		if j.Cluster, j.as, err = j.WithoutImpersonation(); err != nil {
			return err
		}
	}
	if err := j.Login(ctx); err != nil {
		return fail.Server(j.Host, err)
	}
	d, err := j.Discovery()
	if err != nil {
		return err
	}
	j.mapper = mapper.New(d)
	planner := plan.New(j.planned(), j.mapper)
	p, err := planner.First(ctx)
	if err != nil {
		return j.unplanned(j.orWait(err))
	}
	for _, note := range p.Notes {
		report.Line(j.reports, note)
	}
	if err := j.findAbout(ctx, p.Targets); err != nil {
		return err
	}
	j.rights, err = access.New(j.Cluster, access.Options{
		Selection:  access.Selection{LabelSelector: j.selector, FieldSelector: j.fieldSelector},
		Namespaces: j.namespaces,
		Several:    len(p.Targets) > 1,
	})
	if err != nil {
		return err
	}
	if j.rbac.print {
		return j.rights.Print(ctx, j.out, j.needs(p.Targets), j.as, j.rbac.format)
	}
	return j.rights.Detail(ctx, j.follow(ctx, p, planner))
}

// needs are the rights that a run for targets takes.
func (j *job) needs(targets []event.Target) []access.Need {
	selection := access.Selection{LabelSelector: j.selector, FieldSelector: j.fieldSelector}
	var needs []access.Need
	for _, t := range targets {
		needs = append(needs, selection.Watch(t))
		if j.aboutTarget != nil {
			needs = append(needs, access.Owners(*j.aboutTarget, t.Namespace)...)
		}
	}
	if j.state != "" || j.address != nil {
		needs = append(needs, access.Identity())
	}
	return needs
}

// compares reports whether what changed is shown: who changed it is known from the
// managed fields.
func (r *request) compares() bool {
	return r.print.Format == changesFormat || r.print.Changes || r.live || r.page.serves()
}

// keepsOld reports whether the state before is needed. The live table keeps it by itself.
func (r *request) keepsOld() bool {
	shown := r.print.Format == changesFormat || r.print.Changes || r.page.serves()
	return r.print.Old || r.print.Patch || shown || r.conditions.needs().Old
}

// needsManagedFields reports whether something looks at managed fields, though they may
// not be printed.
func (r *request) needsManagedFields() bool {
	return r.compares() || r.conditions.needs().ManagedFields
}

// templateNeedsManagedFields reports whether a template may look at them: kubectl's can.
func (r *request) templateNeedsManagedFields() bool {
	t := r.print.Template
	return t != nil && (r.list || t.LooksAt("metadata", "managedFields"))
}

// needsWholeObjects reports whether something looks into objects of which a table shows
// only some values.
func (r *request) needsWholeObjects() bool {
	return r.print.Order != nil || r.about != nil || len(r.conditions.all()) > 0 || r.live || r.page.serves()
}

func (j *job) planned() plan.Request {
	return plan.Request{
		Arguments:     j.arguments,
		Exclude:       j.exclude,
		Namespaces:    j.namespaces,
		AllNamespaces: j.allNamespaces,
		Home:          j.Namespace,
		LabelSelector: j.selector,
		FieldSelector: j.fieldSelector,
		Wait:          j.wait,
		Awaited:       j.conditions.until.Expression != nil,
		Ask:           j.Ask,
	}
}

// orWait adds --wait to an error of a resource that the server may have later.
func (j *job) orWait(err error) error {
	unknown, ok := errors.AsType[*mapper.UnknownError](err)
	if !ok || unknown.Verb || j.list || j.rbac.print { // which don't go with it
		return err
	}
	return fail.Advise(err, "--wait waits until there is one")
}

// unplanned says of what kind the error of a planner is.
func (j *job) unplanned(err error) error {
	if _, ok := errors.AsType[*plan.UsageError](err); ok {
		return fail.Usage(err)
	}
	return fail.Server(j.Host, err)
}

// follow lists or watches what is planned.
func (j *job) follow(ctx context.Context, p *plan.Plan, resolver watcher.Resolver) (err error) {
	state, err := j.openState(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = state.end(err) }()
	j.fillTable(p.Targets, p.Live)
	w, err := watcher.New(watcher.Options{
		Config:         j.Config,
		HTTP:           j.HTTP,
		Resolver:       resolver,
		Targets:        slices.Concat(p.Targets, state.orphans(p)),
		Follow:         p.Live,
		LabelSelector:  j.selector,
		FieldSelector:  j.fieldSelector,
		IgnoreMissing:  j.ignoreMissing,
		ManagedFields:  j.managedFields || j.needsManagedFields() || j.templateNeedsManagedFields(),
		Tables:         isTable(j.print.Format) || j.page.serves(),
		WholeObjects:   j.needsWholeObjects(),
		KeepContent:    j.keepsOld(),
		RequestTimeout: j.RequestTimeout,
		Heartbeat:      cmp.Or(j.heartbeat, j.metrics.Interval()),
		Past:           state.past(),
	})
	if err != nil {
		return err
	}
	if !p.Live && !j.page.serves() {
		tuneRun(len(p.Targets) + j.workers + j.drawers())
	}
	if j.list {
		j.print.Single = len(p.Targets) == 1 && p.Targets[0].Name != ""
		return j.printList(ctx, w, p.Targets)
	}
	return j.watch(ctx, w, p, state)
}

// watch sends the events through a pipeline.
func (j *job) watch(ctx context.Context, w *watcher.Watcher, what *plan.Plan, state *state) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	p, err := j.newPipeline(ctx, what, state, cancel)
	if err != nil {
		cancel(nil)
		return err
	}
	defer p.sayHidden()
	defer cancel(nil)
	asking, stop := context.WithCancel(ctx)
	j.served.start(j, what.Targets)
	defer func() { j.served.end(err) }()
	j.metrics.Begin(what.Targets)
	p.reporter.Begin(what.Targets, state.note()+j.aboutNote())
	if !j.allNamespaces && slices.ContainsFunc(what.Targets, event.Target.Namespaced) {
		p.reporter.CheckNamespaces(asking, j.namespaces)
	}
	return j.delivery.around(ctx, j, func() error {
		err := j.onScreen(ctx, cancel, p.screen(), func() error {
			err := w.Run(asking, blamed(&tuned{next: j.metrics.Front(j.onlyOwned(j.served.beside(p.reporter)))}))
			j.metrics.End()
			stop() // nobody waits for an answer any more
			p.reporter.Wait()
			return err
		})
		return p.end(ctx, err)
	})
}

// namesake returns the resource that is called name, too. The events wait
// meanwhile, so the server is not asked.
func (j *job) namesake(ctx context.Context, name string) string {
	mappings := j.mapper.Recall(ctx, name)
	if len(mappings) == 0 {
		return ""
	}
	return mappings[0].Resource.Resource
}

// printList prints all, or nothing: half a List would look like a whole one.
func (j *job) printList(ctx context.Context, w *watcher.Watcher, targets []event.Target) error {
	tuneLong()
	printer, err := output.New(j.out, j.print)
	if err != nil {
		return err
	}
	objects, err := w.List(ctx)
	if err != nil {
		return err
	}
	if objects, err = j.listOwned(ctx, objects); err != nil {
		return err
	}
	switch {
	case len(objects) == 0 && j.ignoreMissing:
		return nil // as kubectl
	case len(objects) == 0 && isTable(j.print.Format):
		report.Line(j.reports, j.nothingFound(targets))
	}
	return printer.List(objects)
}
