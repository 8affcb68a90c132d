package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

// listOptions are the flags of dwatch list.
type listOptions struct {
	common
	printing printFlags
	list     listTask
	from     flags.From // a recording, or empty
	at       time.Time  // zero means the end of the recording
}

func (l *listOptions) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to list", l.targets.AddTo, l.targets.AddShard, flags.Subject(&l.object), func(f *pflag.FlagSet) {
			f.BoolVar(&l.list.ignoreMissing, "ignore-not-found", false, "Print nothing if a named object does not exist")
		}, flags.ListWhere(&l.list.where), flags.Timeout(&l.list.timeout, "with exit code 1 if the list is not complete, or 4 with --from")),
		flags.NewGroup("The past", l.from.AddTo, flags.At("With --from, list the objects that existed at `TIME`: how long ago, such as 2h, a time of today, such as 02:55, or a date and a time; by default at its end")),
		flags.NewGroup("Output", func(f *pflag.FlagSet) {
			l.printing.addTo(f, &l.list.print, &l.list.keepManaged, output.Formats, "; by default json, and at a terminal table")
		}, flags.SortBy(&l.list.print.Order)),
	}
}

func (l *listOptions) complete(args []string, t console.Terminal) (err error) {
	l.list.connection = &l.connection
	if err := cmp.Or(flags.ParseTimeFlag(l.all, "at", &l.at), l.from.Check(l.all)); err != nil {
		return err
	}
	if l.list.selection, err = l.selected(args); err != nil {
		return err
	}
	if t.IsTerminal && !l.all.Changed("show-managed-fields") {
		l.printing.format.Resolve("table") // as kubectl get
	} else {
		l.printing.format.Resolve("json")
	}
	if err := checkListWhere(l.list.where); err != nil {
		return err
	}
	if err := l.printing.read(&l.list.print, t, l.all); err != nil {
		return err
	}
	l.list.print.OmitManagedFields = l.list.print.Template == nil && !l.list.keepManaged
	return nil
}

func (l *listOptions) validate() error {
	switch {
	case l.from.IsSet():
		return replay.CheckFlags(l.all, l.server, l.list.selection)
	case !l.at.IsZero():
		return errors.New("--at is for a recording: it needs --from DIR")
	}
	return nil
}

func (l *listOptions) task() task {
	if l.from.IsSet() {
		return &pastListTask{l.list, l.from, l.at}
	}
	return &l.list
}

// listTask lists the objects of clusters.
type listTask struct {
	connection    *cluster.Flags
	selection     run.Selection
	timeout       time.Duration // zero means none
	print         output.Options
	keepManaged   bool
	ignoreMissing bool
	where         []flags.Condition
}

// judgesStates implements judgingTask.
func (l *listTask) judgesStates() bool {
	return slices.ContainsFunc(l.where, func(c flags.Condition) bool { return c.Requirements().Status })
}

func (l *listTask) needs() []run.Need {
	return []run.Need{{Connection: l.connection, Selection: l.selection}}
}

// run implements task. It prints everything or nothing: half a List would look like a whole one. Objects that are not valid JSON are
// missing; the error and the exit code say so.
func (l *listTask) run(ctx context.Context, c *console.Console) error {
	var err error
	if l.selection, err = l.selection.WithShard(); err != nil {
		return err
	}
	ctx, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	if l.connection.HasMultipleContexts() {
		return l.runEach(ctx, c)
	}
	return run.AtCluster(ctx, c, l.connection, l.timeout, true, func(ctx context.Context, k *cluster.Cluster) error {
		s, err := run.OpenSession(ctx, c, k, l.selection)
		if err != nil {
			return err
		}
		run.TuneTargets(len(s.Plan.Targets))
		objects, unread := l.list(ctx, s)
		if unread != nil && !watcher.IsOnlyUnreadable(unread) {
			return s.Rights.DescribeDenials(ctx, unread)
		}
		run.CheckMasks(ctx, s, &l.print, objects)
		run.CheckListWhere(ctx, s, l.where, objects)
		exist := len(objects) > 0
		objects = l.filter(c, objects, time.Now())
		l.fillTable(s)
		l.print.SingleObject = isSingleObject(s.Plan.Targets) && !l.omitsObject(objects)
		err = l.printAll(c, objects, s.NothingFound())
		if !exist && !l.ignoreMissing {
			s.SayMissingNamespaces(ctx)
		}
		return cmp.Or(err, unread)
	})
}

// runEach lists the objects of several clusters as one list. If a cluster does not answer, a message and the exit code show that its
// objects are missing.
func (l *listTask) runEach(ctx context.Context, c *console.Console) error {
	members, err := l.connection.SelectedContexts(l.selection.NamesNamespaces())
	if err != nil {
		return err
	}
	ctx, cancel := run.WithTimeout(ctx, l.timeout)
	defer cancel()
	var mu sync.Mutex // guards l.print
	var known run.ClusterUIDs
	run.TuneTargets(len(members))
	all := run.AtEachCluster(ctx, c, members, func(ctx context.Context, c *console.Console, k *cluster.Cluster) ([]event.Object, error) {
		s, err := run.OpenSession(ctx, c, k, l.selection)
		if err != nil {
			return nil, err
		}
		defer known.WarnIfSame(ctx, s)()
		objects, unread := l.list(ctx, s)
		switch {
		case unread != nil && !watcher.IsOnlyUnreadable(unread):
			return nil, s.Rights.DescribeDenials(ctx, unread)
		case len(objects) == 0 && !l.ignoreMissing:
			s.SayMissingNamespaces(ctx)
		}
		run.CheckMasks(ctx, s, &l.print, objects)
		run.CheckListWhere(ctx, s, l.where, objects)
		mu.Lock()
		defer mu.Unlock()
		l.fillTable(s)
		return l.filter(c, objects, time.Now()), unread
	})
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), run.ErrTimeout) {
		return run.EndOf(ctx, ctx.Err(), true)
	}
	if !run.TolerateMissingResource(c, all) {
		return run.ErrorsOf(all)
	}
	l.print.MultiCluster = true
	for _, m := range members {
		l.print.ClusterNames = append(l.print.ClusterNames, m.Name)
	}
	l.print.Table.ShowNamespaces = l.print.Table.ShowNamespaces || !l.selection.NamesNamespaces() && run.HaveDifferentNamespaces(members)
	err = l.printAll(c, mergeKinds(all), "No resources found")
	return cmp.Or(err, run.ErrorsOf(all))
}

// mergeKinds returns the objects of all clusters, grouped by kind.
func mergeKinds(all []run.ClusterResult[[]event.Object]) (objects []event.Object) {
	order := map[schema.GroupKind]int{}
	for _, o := range all {
		for _, object := range o.Value {
			if kind := object.GroupVersionKind().GroupKind(); order[kind] == 0 {
				order[kind] = len(order) + 1
			}
			objects = append(objects, output.WithCluster(object, o.Cluster))
		}
	}
	slices.SortStableFunc(objects, func(a, b event.Object) int {
		return order[a.GroupVersionKind().GroupKind()] - order[b.GroupVersionKind().GroupKind()]
	})
	return objects
}

func (l *listTask) list(ctx context.Context, s *run.Session) ([]event.Object, error) {
	isTable := flags.IsTable(l.print.Format)
	o := s.WatchOptions()
	o.IgnoreMissing = l.ignoreMissing || l.selection.WithRelated
	// kubectl's templates and sort keys see the managed fields, too.
	o.KeepManagedFields = l.keepManaged || l.print.Template != nil || l.print.Order.MayRead("metadata", "managedFields") || l.needsManagedFields()
	o.Tables, o.FullObjects = isTable, l.print.Order != nil || s.HasSubject() || len(l.where) > 0
	w, err := watcher.New(o)
	if err != nil {
		return nil, err
	}
	run.TuneLong()
	objects, unread := w.List(ctx)
	if unread != nil && !watcher.IsOnlyUnreadable(unread) {
		return nil, unread
	}
	if objects, err = s.SubjectIncludes(ctx, objects); err != nil {
		return nil, err
	}
	isRoot := func(o event.Object) bool { return s.IsSubject(o, l.selection.Object) }
	if l.selection.WithRelated && !l.ignoreMissing && !isTable && !slices.ContainsFunc(objects, isRoot) {
		return nil, fmt.Errorf("%s does not exist", l.selection.Object)
	}
	return objects, unread
}

// isSingleObject reports whether the arguments name one object.
func isSingleObject(targets []event.Target) bool {
	return len(targets) == 1 && targets[0].IsOneObject()
}

// printAll prints the list, or the message nothing for a table without rows.
func (l *listTask) printAll(c *console.Console, objects []event.Object, nothing string) error {
	printer, err := output.New(c.Out, l.print)
	switch {
	case err != nil:
		return err
	case len(objects) == 0 && l.ignoreMissing:
		return nil // as kubectl does
	case len(objects) == 0 && flags.IsTable(l.print.Format):
		c.Say(nothing)
	}
	return printer.PrintList(objects)
}

// fillTable sets the columns that dwatch adds to the columns of the server.
func (l *listTask) fillTable(s *run.Session) {
	t := &l.print.Table
	s.Scope().FillTable(t)
	namespaced := false
	if t.ClusterScoped == nil {
		t.ClusterScoped = map[schema.GroupVersionKind]bool{}
	}
	for _, target := range s.Plan.Targets {
		if namespaced = namespaced || target.Namespaced(); namespaced {
			t.ClusterScoped[target.Mapping.GroupVersionKind] = true
		}
	}
}

// pastListTask lists the objects that existed at a time of a recording.
type pastListTask struct {
	listTask
	from flags.From
	at   time.Time
}

func (p *pastListTask) run(ctx context.Context, c *console.Console) error {
	ctx, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	ctx, cancel := run.WithTimeout(ctx, p.timeout)
	defer cancel()
	return replay.ExplainTimeout(run.EndOf(ctx, p.list(ctx, c), true), "nothing was printed")
}

func (p *pastListTask) list(ctx context.Context, c *console.Console) error {
	from, err := replay.Open(ctx, c, p.from, p.connection)
	if err != nil {
		return err
	}
	s, err := from.Session(ctx, c, p.selection)
	if err != nil {
		return err
	}
	run.TuneLong()
	all, proofs, err := from.At(ctx, p.at)
	if err != nil {
		return err
	}
	var missing error
	for i := range all {
		state := &all[i]
		none := p.missing(*state)
		state.Objects = p.filter(c, state.Objects, state.Proof.To)
		if none != nil && state.Proof.IsComplete() {
			missing = cmp.Or(missing, none)
		}
		for j := range state.Objects {
			if flags.IsTable(p.print.Format) {
				state.Objects[j] = replay.WithRow(state.Objects[j], state.Proof.To)
			}
		}
	}
	if missing == nil || from.IsSeveral() {
		p.fillTable(s)
		p.print.MultiCluster, p.print.ClusterNames = from.IsSeveral(), from.ClusterNames()
		p.print.SingleObject = isSingleObject(s.Plan.Targets) && !p.print.MultiCluster && !p.omitsObject(all[0].Objects)
		if err := p.printAll(c, objectsOf(all), s.NothingFound()); err != nil {
			return err // the gaps do not matter if the list was not printed
		}
	}
	return cmp.Or(proofs.Report(p.print.Timestamps, nil), from.CheckRecorded(), missing)
}

// objectsOf returns all objects, of several clusters with their names.
func objectsOf(all []replay.State) []event.Object {
	if len(all) == 1 && all[0].Cluster == "" {
		return all[0].Objects
	}
	var results []run.ClusterResult[[]event.Object]
	for _, s := range all {
		results = append(results, run.ClusterResult[[]event.Object]{Cluster: s.Cluster, Value: s.Objects})
	}
	return mergeKinds(results)
}

// missing returns an error if a named object did not exist.
func (p *pastListTask) missing(s replay.State) error {
	for _, t := range s.Session.Plan.Targets {
		isIt := func(o event.Object) bool {
			return o.Name == t.Name && (t.Namespace == "" || o.Namespace == t.Namespace) && o.Kind == t.Mapping.GroupVersionKind.Kind
		}
		if t.Name == "" || p.ignoreMissing || slices.ContainsFunc(s.Objects, isIt) {
			continue
		}
		err := fmt.Errorf("%s %q did not exist", strings.ToLower(t.Mapping.GroupVersionKind.Kind), output.EscapeLine(t.Name))
		if s.Cluster != "" {
			err = fmt.Errorf("%s: %w", output.EscapeLine(s.Cluster), err)
		}
		return err
	}
	return nil
}
