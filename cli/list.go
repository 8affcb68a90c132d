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
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

type listFlags struct {
	common
	look look
	listed
	from flags.From // a recording; empty: a cluster is asked
	at   time.Time  // zero: the end of the recording
}

func (l *listFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to list", l.targets.AddTo, l.targets.AddShard, flags.Subject(&l.common.object), func(f *pflag.FlagSet) {
			f.BoolVar(&l.ignoreMissing, "ignore-not-found", false, "Print nothing for a named object that is not there")
		}, flags.Timeout(&l.timeout, "with exit code 1 if the list is not complete by then")),
		flags.NewGroup("The past", l.from.AddTo, flags.At("With --from, what was there at `TIME`: how long ago, such as 2h, a time of today, such as 02:55, or a date and a time; by default at its end")),
		flags.NewGroup("How it looks", func(f *pflag.FlagSet) {
			l.look.addTo(f, &l.print, &l.kept, output.Formats, "; by default json")
		}, flags.SortBy(&l.print.Order)),
	}
}

func (l *listFlags) parse(args []string, t terminal) (r runner, err error) {
	l.listed.connection = &l.common.connection
	if err := cmp.Or(flags.ParseTimeFlag(l.all, "at", &l.at), l.from.Check(l.all)); err != nil {
		return nil, err
	}
	if l.selection, err = l.selected(args); err != nil {
		return nil, err
	}
	l.look.format.Resolve("json")
	if err := l.look.parse(&l.print, t, l.all); err != nil {
		return nil, err
	}
	l.print.OmitManagedFields = l.print.Template == nil && !l.kept
	switch {
	case l.from.IsSet():
		return &pastList{flags: l}, checkFrom(l.all, l.server, l.selection)
	case !l.at.IsZero():
		return nil, errors.New("--at asks a recording: it needs --from DIR")
	}
	return &l.listed, nil
}

type listed struct {
	connection *cluster.Flags
	selection
	timeout       time.Duration // 0: none
	print         output.Options
	kept          bool // the managed fields are
	ignoreMissing bool
}

// run implements runner. It prints all, or nothing: half a List would look like a whole one.
func (l *listed) run(ctx context.Context, c *console) error {
	if err := l.findShard(); err != nil {
		return err
	}
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	if l.connection.HasMultipleContexts() {
		return l.runEach(ctx, c)
	}
	return c.at(ctx, l.connection, l.timeout, true, func(ctx context.Context, k *cluster.Cluster) error {
		s, err := c.open(ctx, k, l.selection)
		if err != nil {
			return err
		}
		tuneRun(len(s.plan.Targets))
		objects, err := l.list(ctx, s)
		if err != nil {
			return s.rights.DescribeDenials(ctx, err)
		}
		checkMasks(ctx, s, &l.print, objects)
		l.fillTable(s)
		l.print.SingleObject = isSingleObject(s.plan.Targets)
		err = l.printAll(c, objects, s.nothingFound())
		if len(objects) == 0 && !l.ignoreMissing {
			s.sayMissing(ctx)
		}
		return err
	})
}

// runEach lists what several clusters have, as one list. What is said of one that does not answer, and
// the exit code, tell that its objects are missing.
func (l *listed) runEach(ctx context.Context, c *console) error {
	members, err := l.connection.SelectedContexts(l.isPlaced())
	if err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, l.timeout)
	defer cancel()
	var mu sync.Mutex // of what the table needs
	var known identities
	tuneRun(len(members))
	all := atEach(ctx, c, members, func(ctx context.Context, c *console, k *cluster.Cluster) ([]event.Object, error) {
		s, err := c.open(ctx, k, l.selection)
		if err != nil {
			return nil, err
		}
		defer known.sayWhile(ctx, c, k)()
		objects, err := l.list(ctx, s)
		switch {
		case err != nil:
			return nil, s.rights.DescribeDenials(ctx, err)
		case len(objects) == 0 && !l.ignoreMissing:
			s.sayMissing(ctx)
		}
		checkMasks(ctx, s, &l.print, objects)
		mu.Lock()
		defer mu.Unlock()
		l.fillTable(s)
		return objects, nil
	})
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout) {
		return ended(ctx, ctx.Err(), true)
	}
	if !lackIt(c, all) {
		return failures(all)
	}
	l.print.MultiCluster = true
	for _, m := range members {
		l.print.ClusterNames = append(l.print.ClusterNames, m.Name)
	}
	l.print.Table.ShowNamespaces = l.print.Table.ShowNamespaces || !l.isPlaced() && differ(members)
	err = l.printAll(c, merged(all), "No resources found")
	return cmp.Or(err, failures(all))
}

// lackIt makes it no error that a cluster does not have the resource, where another one has answered; it
// reports whether one has.
func lackIt[T any](c *console, all []outcome[T]) bool {
	answered := slices.ContainsFunc(all, func(o outcome[T]) bool { return o.err == nil })
	for i := range all {
		if o := &all[i]; answered && mapper.IsUnknown(o.err) {
			c.atCluster(o.cluster).say(strings.Join(fail.Explain(o.err), "; "))
			o.err = nil
		}
	}
	return answered
}

// merged are the objects of all clusters, those of one kind together.
func merged(all []outcome[[]event.Object]) (objects []event.Object) {
	order := map[schema.GroupKind]int{}
	for _, o := range all {
		for _, object := range o.is {
			if kind := object.GroupVersionKind().GroupKind(); order[kind] == 0 {
				order[kind] = len(order) + 1
			}
			objects = append(objects, output.WithCluster(object, o.cluster))
		}
	}
	slices.SortStableFunc(objects, func(a, b event.Object) int {
		return order[a.GroupVersionKind().GroupKind()] - order[b.GroupVersionKind().GroupKind()]
	})
	return objects
}

func (l *listed) list(ctx context.Context, s *session) ([]event.Object, error) {
	isTable := flags.IsTable(l.print.Format)
	o := s.watched()
	o.IgnoreMissing = l.ignoreMissing || l.ofObject
	// kubectl's templates and sort keys see the managed fields, too.
	o.KeepManagedFields = l.kept || l.print.Template != nil || l.print.Order.MayRead("metadata", "managedFields")
	o.Tables, o.FullObjects = isTable, l.print.Order != nil || s.about != nil
	w, err := watcher.New(o)
	if err != nil {
		return nil, err
	}
	tuneLong()
	objects, err := w.List(ctx)
	if err != nil {
		return nil, err
	}
	if objects, err = s.about.among(ctx, objects); err != nil {
		return nil, err
	}
	isRoot := func(o event.Object) bool {
		return o.Name == l.object.Name && s.about.target.Mapping.GroupVersionKind.Kind == o.Kind
	}
	if l.ofObject && !l.ignoreMissing && !isTable && !slices.ContainsFunc(objects, isRoot) {
		return nil, fmt.Errorf("%s does not exist", l.object)
	}
	return objects, nil
}

// isSingleObject reports whether the arguments name one object. A name in all namespaces may stand for several.
func isSingleObject(targets []event.Target) bool {
	return len(targets) == 1 && targets[0].Name != "" && (targets[0].Namespace != "" || !targets[0].Namespaced())
}

// printAll prints the list, or of a table without rows what nothing says.
func (l *listed) printAll(c *console, objects []event.Object, nothing string) error {
	printer, err := output.New(c.out, l.print)
	switch {
	case err != nil:
		return err
	case len(objects) == 0 && l.ignoreMissing:
		return nil // as kubectl
	case len(objects) == 0 && flags.IsTable(l.print.Format):
		c.say(nothing)
	}
	return printer.PrintList(objects)
}

// sayMissing says of which namespaces there is nothing as they do not exist.
func (s *session) sayMissing(ctx context.Context) {
	if s.isQuiet() || s.scope.AllNamespaces || !slices.ContainsFunc(s.plan.Targets, event.Target.Namespaced) {
		return
	}
	for _, n := range s.scope.Namespaces {
		missing, meant, err := s.questions.CheckNamespace(ctx, n)
		switch {
		case err != nil:
			return // nor will it say so of the others
		case missing && meant != "":
			s.say(fmt.Sprintf("namespace %q does not exist; did you mean %s?", n, meant))
		case missing:
			s.say(fmt.Sprintf("namespace %q does not exist", n))
		}
	}
}

// fillTable says what a table needs to show of the targets beside their columns.
func (l *listed) fillTable(s *session) {
	t := &l.print.Table
	s.fillTable(t)
	namespaced := false
	if t.ClusterScoped == nil {
		t.ClusterScoped = map[schema.GroupVersionKind]bool{}
	}
	for _, target := range s.plan.Targets {
		if namespaced = namespaced || target.Namespaced(); namespaced {
			t.ClusterScoped[target.Mapping.GroupVersionKind] = true
		}
	}
}

// nothingFound says that a table has no row, as kubectl does.
func (s *session) nothingFound() string {
	if s.plan.MatchesNoNamespace() {
		return "No resources found: no namespace matches " + s.scope.NamespaceFlag()
	}
	if shard := s.scope.Shard; !shard.IsAll() {
		return "No resources found in shard " + shard.String()
	}
	if s.scope.AllNamespaces || s.scope.SelectsNamespaces() || !slices.ContainsFunc(s.plan.Targets, event.Target.Namespaced) {
		return "No resources found"
	}
	return "No resources found in " + strings.Join(s.scope.WatchedNamespaces(), ", ") + " namespace."
}
